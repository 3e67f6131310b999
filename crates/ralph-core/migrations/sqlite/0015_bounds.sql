-- Counted attempts on a task and on its fix tasks since a person last gave a go-ahead, kept with the task they are all for.
-- Attempts of older versions are not counted: no task is blocked by an upgrade alone.
ALTER TABLE strategy_metrics ADD COLUMN attempts_used INTEGER NOT NULL DEFAULT 0;
-- Whether the circuit breaker has forgiven failures of this task since then.
ALTER TABLE strategy_metrics ADD COLUMN breaker_forgave INTEGER NOT NULL DEFAULT 0;
