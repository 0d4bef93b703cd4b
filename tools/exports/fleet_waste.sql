-- Returns the jobs with the most unused memory, in hours of whole GPUs, the most first.
-- The same text runs in DuckDB and in Spark and reads the view `ranks` (docs/fleet.md).
--   unused_card_hours: memory that the process never reserved.
--   kept_card_hours: memory that its allocator reserved and never had allocated.
--   lost_card_hours: hours of ranks that ran out of memory.
WITH by_job AS (
  SELECT
    job,
    COUNT(*) AS ranks,
    SUM(card_hours) AS card_hours,
    SUM(card_hours * (device_bytes - peak_reserved_bytes) / device_bytes) AS unused_card_hours,
    SUM(card_hours * (peak_reserved_bytes - peak_allocated_bytes) / device_bytes)
      AS kept_card_hours,
    SUM(CASE WHEN out_of_memory > 0 THEN card_hours ELSE 0 END) AS lost_card_hours
  FROM ranks
  WHERE device_bytes > 0
  GROUP BY job
)
SELECT * FROM by_job
ORDER BY unused_card_hours + kept_card_hours DESC, job
LIMIT 50
