import { describe, expect, it } from "vitest";
import type { WireRequest } from "@millrace/models/messages/wire-request";
import { cacheBreak } from "../../src/sessions/overview/cache-break.ts";

const say = (role: string, content: string) => ({ role, content });
const tool = (name: string, description = "Does it.") => ({ type: "function", function: { name, description } });
const request = (messages: WireRequest["messages"], tools = [tool("read")], more: object = {}): WireRequest => ({
  model: "m",
  temperature: 0,
  ...more,
  messages,
  tools,
});
const talk = [say("system", "Be kind."), say("user", "Grüße, 你好"), say("assistant", "Hello.")];

describe("a provider's prompt cache", () => {
  it.each([
    ["the same request", request(talk)],
    ["messages that were added", request([...talk, say("user", "And?")])],
    ["fields that no cache depends on", request(talk, [tool("read")], { temperature: 1 })],
  ])("holds with %s", (_, next) => {
    expect(cacheBreak(next, request(talk))).toBeNull();
  });

  it.each([
    [
      "another word, after characters of several bytes",
      request([...talk.slice(0, 2), say("assistant", "Help.")]),
      "messages[2].content",
      'p."',
    ],
    ["a message less", request(talk.slice(0, 2)), "messages[2]", "],"],
    ["another role", request([say("developer", "Be kind."), ...talk.slice(1)]), "messages[0].role", 'developer"'],
    [
      "a field more",
      request([{ ...say("system", "Be kind."), name: "x" }, ...talk.slice(1)]),
      "messages[0].name",
      '"x"',
    ],
    [
      "a tool more, whatever the messages",
      request([say("user", "x")], [tool("read"), tool("write")]),
      "tools[1]",
      '{"type"',
    ],
    ["another description", request(talk, [tool("read", "Does all.")]), "tools[0].function.description", "all."],
    ["another model", request(talk, [tool("read")], { model: "n" }), "model", 'n"'],
  ])("breaks with %s", (_, next, path, from) => {
    const found = cacheBreak(next, request(talk));
    expect(found?.path).toBe(path);
    const bytes = Buffer.from(JSON.stringify(next));
    expect(bytes.subarray(found?.byte).toString().slice(0, from.length)).toBe(from);
  });
});
