-- What confined an attempt and a run, as JSON; none where an earlier version made it.
ALTER TABLE iteration_outcomes ADD COLUMN sandbox TEXT COLLATE "C";
ALTER TABLE runs ADD COLUMN sandbox TEXT COLLATE "C";
