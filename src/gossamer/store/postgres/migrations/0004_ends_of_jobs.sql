-- Schema 4: why a job's last run ended is one word of a known set, and what an error said stands beside it.
--
-- `finish_reason` is a member of gossamer.core.lifecycle.FinishReason or nothing. Before, `error: ...` was in it.
ALTER TABLE job ADD COLUMN end_error text NOT NULL DEFAULT '';
UPDATE job SET end_error = substr(finish_reason, 8), finish_reason = 'error' WHERE finish_reason LIKE 'error: %';
