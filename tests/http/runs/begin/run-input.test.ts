import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { wireText } from "@millrace/testing/model-server";
import { startSessions, type SessionFixture } from "../../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const image = { type: "image", path: "plan.png", name: "plan.png", mime_type: "image/png", size: 12, from: "camera" };
const text = { type: "text", source: "notes.md", content: "The door is blue." };
const body = (messages: unknown) => ({ assistant_id: "agent", input: { messages }, context: { mode: "reply" } });
const newThread = async (): Promise<string> => (await fixture.server.client.threads.create()).thread_id;

/** The system message that the model received last. */
const systemOf = (): string => wireText(fixture.model.requests.at(-1)?.messages[0] ?? { role: "none" });

describe("attachments and references of an input message", () => {
  it.each([
    ["beside the content", { role: "user", content: "hello", attachments: [image], references: [text] }],
    [
      "in additional_kwargs",
      {
        type: "human",
        content: "hello",
        additional_kwargs: { attachments: [image], references: [text], colour: "blue" },
      },
    ],
    [
      "in a serialised message",
      {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "messages", "HumanMessage"],
        kwargs: { content: "hello", additional_kwargs: { attachments: [image], references: [text] } },
      },
    ],
  ])("are stored completely, %s", async (_name, message) => {
    const id = await newThread();
    fixture.model.push({ text: "hi" });
    await fixture.json("POST", `/threads/${id}/runs/wait`, body([message]));
    const [sent, answer] = await fixture.messages(id);
    expect([sent?.content, answer?.content]).toEqual(["hello", "hi"]);
    expect(sent?.additional_kwargs).toMatchObject({ attachments: [image], references: [text] });
    if ("additional_kwargs" in message) expect(sent?.additional_kwargs).toMatchObject({ colour: "blue" });
    // The model receives them; with the next message only that message's own (MSG-09).
    expect(systemOf()).toContain("Reference 1: text (source: notes.md)\n```\nThe door is blue.\n```");
    expect(systemOf()).toContain("Attachment 1: plan.png (image, image/png, 12 bytes, path: plan.png)");
    await fixture.say(id, "and now?");
    expect(systemOf()).not.toMatch(/door is blue|plan\.png/u);
  });

  it("are not read if there are more messages than the limit", async () => {
    const messages = Array.from({ length: 20_001 }, () => ({ role: "user", content: "" }));
    const response = await fixture.server.send("POST", `/threads/${await newThread()}/runs`, body(messages));
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining("at most 20000 messages")]);
  });

  it("are sent once, also if the run's context has them too, and rules for such a file apply", async () => {
    const { workspace } = fixture.server.config;
    await mkdir(join(workspace, ".autocoderrules"));
    await writeFile(join(workspace, ".autocoderrules/tea.md"), '---\nglobs: "*.tea"\n---\nServe it hot.');
    const attached = { ...image, type: "file", name: "green.tea", path: "shelf/green.tea" };
    const message = { role: "user", content: "hello", references: [text], attachments: [attached] };
    fixture.model.push({ text: "hi" });
    const id = await newThread();
    const context = { mode: "reply", references: [text] };
    await fixture.json("POST", `/threads/${id}/runs/wait`, { ...body([message]), context });
    expect(systemOf().split("The door is blue.")).toHaveLength(2);
    expect(fixture.model.requests.at(-1)?.messages.map(wireText).join("\n")).toContain("Serve it hot.");
    await rm(join(workspace, ".autocoderrules"), { recursive: true });
  });

  const wrongImage = { ...image, name: "plan.gif" };
  it.each([
    ["an image of a wrong type", [{ role: "user", content: "x", attachments: [wrongImage] }], "0.attachments.0.name"],
    [
      "an image that is too large",
      ["hello", { type: "human", content: "x", additional_kwargs: { attachments: [{ ...image, size: 2e7 }] } }],
      "1.additional_kwargs.attachments.0.size",
    ],
    [
      "a reference without its content",
      [{ role: "user", content: "x", references: [{ type: "file", source: "a.md" }] }],
      "0.references.0.content",
    ],
    ["attachments that are no list", [{ role: "user", content: "x", attachments: "a.png" }], "0.attachments"],
    ["a content that is too long", [{ role: "user", content: "x".repeat(1_000_001) }], "0.content"],
    ["a pair with a content that is too long", [["user", "x".repeat(1_000_001)]], "0.content"],
    [
      "a serialised message with a wrong image",
      [
        {
          lc: 1,
          type: "constructor",
          id: [],
          kwargs: { content: "x", additional_kwargs: { attachments: [wrongImage] } },
        },
      ],
      "0.kwargs.additional_kwargs.attachments.0.name",
    ],
  ])("are refused before anything is written: %s", async (_name, messages, field) => {
    const id = await newThread();
    for (const path of [`/threads/${id}/runs`, `/threads/${id}/runs/stream`, "/runs/wait"]) {
      const [status, answer] = await fixture.ask("POST", path, body(messages), { accept: "application/json" });
      expect(status).toBe(400);
      const { errorType, message } = z
        .looseObject({ errorType: z.string(), message: z.string() })
        .parse(JSON.parse(String(answer)));
      expect(errorType).toBe("invalid_parameter");
      expect(message).toContain(`input.messages.${field}: `);
    }
    expect(await fixture.json("GET", `/threads/${id}/runs`)).toEqual([]);
    expect(await fixture.messages(id).catch(() => [])).toEqual([]);
  });

  const wrong = { messages: [{ role: "user", content: "x", attachments: [wrongImage] }] };
  const kept = { messages: [{ role: "user", content: "x", attachments: [image] }] };
  it.each([
    ["update", { update: wrong }, "command.update.messages.0.attachments.0.name"],
    [
      "list of updates",
      { update: [["work_mode", "auto"], ...Object.entries(wrong)] },
      "command.update.1.messages.0.att",
    ],
    ["sent input", { goto: ["work", { node: "work", input: wrong }] }, "command.goto.1.input.messages.0.attachments"],
  ])("are refused in the %s of a command", async (_name, command, field) => {
    const id = await newThread();
    const [status, answer] = await fixture.ask("POST", `/threads/${id}/runs`, { assistant_id: "agent", command });
    expect([status, answer]).toEqual([400, expect.stringContaining(field)]);
    expect(await fixture.json("GET", `/threads/${id}/runs`)).toEqual([]);
  });

  it("are refused in an invalid state update, and stored completely otherwise", async () => {
    const id = await fixture.talk("hello");
    const [status, answer] = await fixture.ask("POST", `/threads/${id}/state`, { values: wrong });
    expect([status, answer]).toEqual([400, expect.stringContaining("values.messages.0.attachments.0.name: ")]);
    expect(await fixture.messages(id)).toHaveLength(2);
    await fixture.json("POST", `/threads/${id}/state`, { values: kept });
    expect((await fixture.messages(id)).at(-1)?.additional_kwargs).toMatchObject({ attachments: [image] });
  });

  it("are refused in an invalid input of a cron, when it is created and when it is updated", async () => {
    const cron = { assistant_id: "agent", schedule: "0 0 1 1 *" };
    const problem = expect.stringContaining("input.messages.0.attachments.0.name: ");
    expect(await fixture.ask("POST", "/runs/crons", { ...cron, input: wrong })).toEqual([400, problem]);
    const made = await fixture.json("POST", "/runs/crons", { ...cron, input: kept });
    const { cron_id } = z.looseObject({ cron_id: z.string() }).parse(made);
    expect(await fixture.ask("PATCH", `/runs/crons/${cron_id}`, { input: wrong })).toEqual([400, problem]);
    expect(await fixture.json("PATCH", `/runs/crons/${cron_id}`, { enabled: false })).toMatchObject({
      payload: { input: kept },
    });
    await fixture.ask("DELETE", `/runs/crons/${cron_id}`);
  });

  it("are stored completely in the update of a command", async () => {
    for (const update of [kept, Object.entries(kept)]) {
      const id = await fixture.talk("hello");
      fixture.model.push({ text: "hi" });
      const command = { update, goto: "free_work" };
      await fixture.json("POST", `/threads/${id}/runs/wait`, { ...body([]), input: undefined, command });
      expect((await fixture.messages(id))[2]?.additional_kwargs).toMatchObject({ attachments: [image] });
    }
  });

  it.each([
    ["a node", { goto: "nowhere" }, 'command.goto: the graph has no node "nowhere"'],
    ["a node of a Send", { goto: [{ node: "toString", input: {} }] }, 'the graph has no node "toString"'],
    ["a channel", { update: { colour: "blue" } }, 'command.update: the graph has no channel "colour"'],
    ["a channel named like a prototype", { update: [["constructor", 1]] }, 'the graph has no channel "constructor"'],
  ])("a command with %s that does not exist is refused, and the session goes on", async (_name, command, problem) => {
    const id = await fixture.talk("hello");
    const [status, answer] = await fixture.ask("POST", `/threads/${id}/runs/wait`, { assistant_id: "agent", command });
    expect([status, answer]).toEqual([400, expect.stringContaining(problem)]);
    await fixture.say(id, "and on");
    expect(await fixture.messages(id)).toHaveLength(4);
  });
});
