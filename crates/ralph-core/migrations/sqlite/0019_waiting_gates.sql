-- The gate that a task has in its plan's file while gate_waits is set; NULL where the file gives it none.
ALTER TABLE task_sources ADD COLUMN waiting_gate TEXT;
