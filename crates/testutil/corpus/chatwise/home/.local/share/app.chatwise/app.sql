-- The tables that Loci reads, as other readers of ChatWise describe them. Written for tests; turned into app.db by testutil.
create table chat(id text primary key, title text, model text, assistantId text, createdAt integer, lastReplyAt integer, agentOptions text);
create table message(id text primary key, chatId text, role text, content text, reasoningContent text, model text, files text,
  meta text, createdAt integer);
insert into chat (id, title, model, createdAt, lastReplyAt, agentOptions) values ('chat-lantern-1', 'Lantern weather', 'made-model', 1778918400000, 1778918409000, '{"workDirectory":"/srv/demo/lantern"}');
insert into chat (id, title, model, createdAt) values ('chat-lantern-2', null, 'made-model', 1779004800000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-1', 'chat-lantern-1', 'user', 'Will it rain on the lantern festival?', null, null, 1778918400000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-2', 'chat-lantern-1', 'assistant', 'Asking the weather station.', 'made-model', '{"toolCall":{"use_mcp_tool":{"server_name":"station","tool_name":"forecast","arguments":"{\"day\":\"festival\"}"}},"toolResult":{"content":[{"type":"text","text":"dry"}]}}', 1778918401000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-3', 'chat-lantern-1', 'assistant', '', 'made-model', '{"toolCall":{"use_mcp_tool":{"server_name":"station","tool_name":"wind","arguments":"{\"day\":\"festival\"}"}},"toolResult":{"isError":true,"content":[{"type":"text","text":"the sensor is broken"}]}}', 1778918402000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-4', 'chat-lantern-1', 'assistant', '节日那天不下雨。', 'made-model', null, 1778918403000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-5', 'chat-lantern-2', 'user', 'Name three kinds of candles.', null, null, 1779004800000);
insert into message (id, chatId, role, content, model, meta, createdAt) values ('cm-6', 'chat-lantern-2', 'assistant', 'Beeswax, tallow, paraffin.', 'made-model', null, 1779004801000);
