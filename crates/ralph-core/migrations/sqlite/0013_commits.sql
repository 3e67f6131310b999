-- What the attempt of a claim is about to commit: should its process die, the commit is found by this.
ALTER TABLE claims ADD COLUMN commit_intent TEXT;
