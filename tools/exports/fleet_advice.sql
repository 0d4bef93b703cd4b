-- Returns the advice that would free the most memory. freed_card_hours is the share of a GPU that
-- the advice would free, times the hours for which the rank had the GPU.
-- The same text runs in DuckDB and in Spark and reads the view `advice` (docs/fleet.md).
SELECT
  advice,
  COUNT(DISTINCT job) AS jobs,
  COUNT(*) AS ranks,
  SUM(card_hours * LEAST(bytes, device_bytes) / device_bytes) AS freed_card_hours,
  MAX(bytes) AS largest_bytes
FROM advice
WHERE bytes > 0 AND device_bytes > 0
GROUP BY advice
ORDER BY freed_card_hours DESC, advice
LIMIT 50
