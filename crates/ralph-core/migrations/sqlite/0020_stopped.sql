-- Whether `ralph stop` sends this run the signal that ends it.
ALTER TABLE runs ADD COLUMN stop_sent INTEGER NOT NULL DEFAULT 0;
