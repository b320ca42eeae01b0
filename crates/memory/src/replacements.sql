-- What a model says: the fact `new` replaced the fact `old`.
create table replacements(
    old text not null references facts(id) on delete cascade,
    new text not null references facts(id) on delete cascade,
    primary key(old, new)
) without rowid;
