-- Returns one row of facts for each rank of a job that `vramstow export … --to parquet` exported.
-- The same text runs in DuckDB and in Spark and reads a view `events`, which is made as follows:
--   DuckDB: CREATE VIEW events AS SELECT * FROM read_parquet('FOLDER/*/*.parquet', hive_partitioning = true)
--   Spark:  spark.read.parquet('FOLDER').createOrReplaceTempView('events')
-- The figures equal those of `vramstow analyze --json` under ranks[]: peak.allocated_bytes,
-- peak.reserved_bytes, counts.allocations, counts.frees, counts.out_of_memory.
-- bytes_over_the_smallest is the difference between the rank's peak and the smallest of all ranks.
WITH refused AS (
  SELECT refusal.rank AS rank, COUNT(*) AS frees
  FROM events AS refusal
  JOIN events AS announced
    ON announced.rank = refusal.rank AND announced.sequence = refusal.object
  WHERE refusal.kind = 'refused' AND announced.kind = 'free'
  GROUP BY refusal.rank
),
counted AS (
  SELECT
    rank,
    MAX(allocated_bytes) AS peak_allocated_bytes,
    MAX(reserved_bytes) AS peak_reserved_bytes,
    SUM(CASE WHEN kind = 'allocate' AND layer <> 'pool' AND result = 0 AND call <> 'window_start'
             THEN 1 ELSE 0 END) AS allocations,
    SUM(CASE WHEN kind = 'free' AND layer <> 'pool' THEN 1 ELSE 0 END) AS frees,
    SUM(CASE WHEN layer <> 'pool' AND result = 2 AND kind <> 'refused' THEN 1 ELSE 0 END)
      AS out_of_memory,
    COUNT(*) AS events
  FROM events
  GROUP BY rank
)
SELECT
  CAST(counted.rank AS BIGINT) AS rank,
  peak_allocated_bytes,
  peak_reserved_bytes,
  CAST(allocations AS BIGINT) AS allocations,
  CAST(counted.frees - COALESCE(refused.frees, 0) AS BIGINT) AS frees,
  CAST(out_of_memory AS BIGINT) AS out_of_memory,
  events,
  peak_allocated_bytes - MIN(peak_allocated_bytes) OVER () AS bytes_over_the_smallest
FROM counted
LEFT JOIN refused ON refused.rank = counted.rank
ORDER BY rank
