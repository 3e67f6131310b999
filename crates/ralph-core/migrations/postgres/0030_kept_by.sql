-- The clone that keeps the file in sync, by host and directory; empty in a store that only one clone has.
ALTER TABLE sources ADD COLUMN kept_by TEXT COLLATE "C";
