-- Texts that a person deleted from AGENTS.md: an agent that says the same again does not bring them back.
CREATE TABLE agents_md_deleted (
    content TEXT PRIMARY KEY
) WITHOUT ROWID;
