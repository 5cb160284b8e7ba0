-- What was asked for (phase intent) and what became of it (phase outcome): two
-- entries under one key of ours. An outcome repeats its intent, as far as it is
-- known better by then. Keys begin with the time of the intent, at_micros says
-- it in microseconds since 1970. detail is a JSON object; duration_millis is -1
-- where it is not known.
CREATE TABLE audit (
    key             TEXT    NOT NULL,
    phase           TEXT    NOT NULL,
    at_micros       BIGINT  NOT NULL,
    actor           TEXT    NOT NULL,
    via             TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    verb            TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    namespace       TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
    code            TEXT    NOT NULL,
    detail          TEXT    NOT NULL,
    duration_millis BIGINT  NOT NULL,
    request_id      TEXT    NOT NULL,
    PRIMARY KEY (key, phase)
);
CREATE INDEX audit_by_object ON audit (kind, name, key);
CREATE INDEX audit_by_actor ON audit (actor, key);

-- The intents without an outcome, so that a start need not search for them.
CREATE TABLE audit_open (
    key TEXT PRIMARY KEY
);

-- Entries are appended, never changed nor removed.
-- +sqlite
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries cannot be changed'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries cannot be removed'); END;
-- +end
-- +postgres
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries cannot be changed or removed';
END
$$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
-- +end
