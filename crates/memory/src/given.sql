-- Every search looks through the names and tags that a person or a model gave: few sessions have one.
create index given_names on sessions(session_id, source) where name_by in ('model', 'person');
create index given_tags on tags(session_id, source) where shed = 0 and given_by in ('model', 'person');
