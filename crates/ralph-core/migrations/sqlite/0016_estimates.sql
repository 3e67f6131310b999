-- Costs that Ralph estimated from tokens and prices, because the agent gave none: a sum with one of them is shown as about.
ALTER TABLE iteration_outcomes ADD COLUMN cost_estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cost_estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN cost_estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN cost_estimated INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER estimates_added AFTER INSERT ON iteration_outcomes WHEN new.cost_estimated BEGIN
    UPDATE totals SET cost_estimated = cost_estimated + 1;
END;
CREATE TRIGGER estimates_removed AFTER DELETE ON iteration_outcomes WHEN old.cost_estimated BEGIN
    UPDATE totals SET cost_estimated = cost_estimated - 1;
END;
-- Which defaults a run was made with: the first one with newer defaults tells what changed. 0 is a run of an older Ralph.
ALTER TABLE runs ADD COLUMN defaults_revision INTEGER NOT NULL DEFAULT 0;
