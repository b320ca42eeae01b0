-- When a person last changed a fact: of two edits on two devices, the later stays.
alter table facts add column edited_at integer;
