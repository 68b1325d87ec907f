-- A search reads what waits to be merged into an index. The default, 4 MB, takes longer than the search itself, and who
-- merges it waits for that, too.

ALTER INDEX IF EXISTS {s}.issue_search_texts SET (gin_pending_list_limit = 256);
ALTER INDEX {s}.issue_search_external SET (gin_pending_list_limit = 256);
ALTER INDEX {s}.issue_texts_labels SET (gin_pending_list_limit = 256);

-- Where two words meet: the last two characters of one, a space, and the first two of the next. Two words that many texts
-- have meet in few, so this finds texts of several words. Nothing is gathered of it for the planner: that takes long, and
-- ait decides when to use it.
CREATE FUNCTION {s}.seams(texts text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array(SELECT right(before, 2) || ' ' || left(after, 2) FROM unnest(words, words[2:]) AS w(before, after)
    WHERE after IS NOT NULL) FROM (SELECT string_to_array(texts, ' ') AS words) AS s
$$;
CREATE INDEX issue_search_seams ON {s}.issue_search USING gin ({s}.seams(texts)) WITH (gin_pending_list_limit = 256);
ALTER INDEX {s}.issue_search_seams ALTER COLUMN 1 SET STATISTICS 0;
