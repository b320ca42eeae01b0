create table cursorDiskKV (key text unique, value blob);
insert into cursorDiskKV values ('composerData:c1', '{"composerId": "c1", "name": "Add a helper", "createdAt": 1794793000000, "lastUpdatedAt": 1794793009000, "fullConversationHeadersOnly": [{"bubbleId": "b1"}, {"bubbleId": "b2"}, {"bubbleId": "b3"}]}');
insert into cursorDiskKV values ('bubbleId:c1:b2', '{"type": 2, "text": "", "timestamp": 1794793000002, "toolFormerData": {"toolCallId": "call_2", "name": "run_terminal_cmd", "rawArgs": "{\"command\": \"make\"}", "status": "error", "result": "make: no target"}}');
insert into cursorDiskKV values ('bubbleId:c1:b1', '{"type": 1, "text": "Build it.", "timestamp": 1794793000001, "workspaceProjectDir": "/srv/app"}');
insert into cursorDiskKV values ('bubbleId:c1:b3', '{"type": 2, "rawText": "It fails.", "timestamp": 1794793000003, "modelInfo": {"modelName": "gpt-x"}}');
insert into cursorDiskKV values ('bubbleId:c1:b4', null);
insert into cursorDiskKV values ('bubbleId:c2:b1', '{broken');
insert into cursorDiskKV values ('other', '{}');
