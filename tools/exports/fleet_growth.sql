-- Returns the jobs whose highest peak of a rank was larger in the newest seven days of the
-- dataset than in the seven days before, the largest growth first.
-- The same text runs in DuckDB and in Spark and reads the view `ranks` (docs/fleet.md).
WITH newest AS (
  SELECT MAX(CAST(day AS DATE)) AS last_day FROM ranks
),
weeks AS (
  SELECT
    job,
    CASE WHEN CAST(day AS DATE) > last_day - INTERVAL 7 DAY THEN 1 ELSE 0 END AS is_newest,
    MAX(peak_allocated_bytes) AS peak_bytes,
    COUNT(*) AS ranks
  FROM ranks CROSS JOIN newest
  WHERE CAST(day AS DATE) > last_day - INTERVAL 14 DAY
  GROUP BY job, CASE WHEN CAST(day AS DATE) > last_day - INTERVAL 7 DAY THEN 1 ELSE 0 END
)
SELECT
  late.job AS job,
  early.peak_bytes AS peak_bytes_before,
  late.peak_bytes AS peak_bytes_now,
  late.peak_bytes - early.peak_bytes AS grown_bytes,
  late.ranks AS ranks
FROM weeks AS late
JOIN weeks AS early ON early.job = late.job AND early.is_newest = 0
WHERE late.is_newest = 1 AND late.peak_bytes > early.peak_bytes
ORDER BY grown_bytes DESC, job
LIMIT 50
