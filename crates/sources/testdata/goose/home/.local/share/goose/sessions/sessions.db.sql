create table sessions (id text primary key, name text, description text, working_dir text, created_at text, updated_at text, accumulated_input_tokens integer, accumulated_output_tokens integer, model_config_json text, parent_session_id text);
create table messages (id integer primary key, message_id text, session_id text, role text, content_json text, created_timestamp integer);
insert into sessions values ('20261116_1','Helper','', '/srv/app','2026-11-16 01:00:00','2026-11-16 01:05:00',900,40,'{"model_name": "gpt-x"}',null);
insert into messages values (1,'m1','20261116_1','user','[{"type": "text", "text": "Add a helper."}]',1794790800);
insert into messages values (2,'m2','20261116_1','assistant','[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}, {"type": "toolRequest", "id": "g1", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}}]',1794790801);
insert into messages values (3,'m3','20261116_1','user','[{"type": "toolResponse", "id": "g1", "toolResult": {"status": "error", "error": "exit 2"}}]',1794790802);
insert into messages values (4,'m4','20261116_1','assistant','[{"type": "text", "text": "It fails."}]',1794790803);
