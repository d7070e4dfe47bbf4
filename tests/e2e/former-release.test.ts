import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "@millrace/testing/model-server";
import { readEvents } from "@millrace/testing/read-events";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

// R9: `former-release.db.gz` was written by the release before this one (schema 4) and killed, with these sessions in it:
// three wait for an answer, the others have a run in flight whose last model request was never answered.
const session = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
const asks = session(1);
const asker = session(2);
const nestedAsker = session(3);
const answered = session(4);
const walking = session(5);
const started = session(6);
const planned = session(7);

const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
const exists = async (path: string): Promise<boolean> =>
  await access(path).then(
    () => true,
    () => false,
  );

/** What the model of that time would go on with. It never asks for a call that has been made. */
function goOn(request: ModelRequest): ModelStep {
  const last = request.messages.at(-1);
  const text = last === undefined ? "" : wireText(last);
  // The clock of a turn goes on while nothing runs, so this one is late by now and asked to come to its end.
  if (last?.role === "tool" || text.includes("the time for this turn is used up"))
    return { text: "Said after the tool." };
  if (text.startsWith("Go on with the plan. These steps are left:\n2. ")) {
    return { toolCalls: [{ name: "create_file", arguments: { path: "planned-2.md", content: "two" } }] };
  }
  return { text: `Said to: ${text}` };
}

let folder: string;
let server: TestServer;
let model: ModelServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-former-"));
  const packed = await readFile(fileURLToPath(new URL("former-release.db.gz", import.meta.url)));
  await mkdir(join(folder, "data"));
  await writeFile(join(folder, "data", "millrace.db"), gunzipSync(packed));
  await mkdir(join(folder, "workspace", "asks"), { recursive: true });
  await writeFile(join(folder, "workspace", "asks", "file"), "asks");
  const graphs = {
    agent: join(projectFolder, "src/graph/workflow.ts:workflow"),
    asker: join(projectFolder, "tests/support/test-graphs.ts:asker"),
    nestedAsker: join(projectFolder, "tests/support/test-graphs.ts:nestedAsker"),
  };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  model = await startModelServer({ handler: goOn });
  server = await startTestServer({
    dataDir: join(folder, "data"),
    workspace: join(folder, "workspace"),
    graphs: join(folder, "langgraph.json"),
    openai: loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url }).openai,
    model: "openai:scripted",
  });
});
afterEach(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true });
});

/** Waits for every run of a session; how they ended, oldest first. */
async function ends(id: string): Promise<string[]> {
  const runs = await server.client.runs.list(id);
  for (const { run_id } of runs) await server.client.runs.join(id, run_id);
  return (await server.client.runs.list(id)).map(({ status }) => status).toReversed();
}

async function messages(id: string): Promise<string[]> {
  const { values } = await server.client.threads.getState(id);
  return Values.parse(values).messages.map(({ type, content }) => `${type}: ${content}`);
}

describe("a database of the former release", () => {
  it("goes on with every run that was in flight, and repeats no call that had ended", async () => {
    for (const [id, expected] of [
      [answered, ["success", "success"]],
      [walking, ["success", "success"]],
      [started, ["success"]],
      [planned, ["success"]],
    ] as const) {
      expect(await ends(id)).toEqual(expected);
      expect(await server.client.threads.get(id)).toMatchObject({ status: "idle", interrupts: {} });
    }
    expect(await messages(answered)).toEqual([
      "human: answered please, delete it",
      "ai: ",
      "tool: Deleted the folder answered/ with everything in it.",
      "ai: Said after the tool.",
    ]);
    expect(await messages(walking)).toEqual([
      "human: walking please",
      "ai: ",
      "tool: Created walking.md (7 bytes).",
      "ai: Said after the tool.",
      "human: queued please",
      "ai: Said to: queued please",
    ]);
    expect(await messages(started)).toEqual(["human: started please", "ai: Said to: started please"]);
    expect((await messages(planned)).slice(2)).toEqual([
      "ai: ",
      "tool: Created planned-1.md (7 bytes).",
      "ai: Done.",
      "ai: ",
      "tool: Created planned-2.md (3 bytes).",
      "ai: Said after the tool.",
    ]);
    const files = ["walking.md", "planned-1.md", "planned-2.md"].map((name) => join(folder, "workspace", name));
    expect(await Promise.all(files.map(exists))).toEqual([false, false, true]);
    expect(model.unexpected).toEqual([]);
  });

  it("continues the log of such a run: old and new events in one order, each id once", async () => {
    const [run] = await server.client.runs.list(started);
    const response = await server.send("GET", `/threads/${started}/runs/${run?.run_id}/stream`, undefined, {
      "last-event-id": "-1",
    });
    const events = await readEvents(response);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
    const attempts = events.filter(({ event }) => event === "metadata").map(({ data }) => data);
    expect(attempts).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  });

  it.each([asker, nestedAsker])("takes the answer to a question that waits in it (%s)", async (id) => {
    const { status, interrupts } = await server.client.threads.get(id);
    expect([
      status,
      Object.values(interrupts)
        .flat()
        .map(({ value }) => value),
    ]).toEqual(["interrupted", [{ question: "Go on?" }]]);
    const graph = id === asker ? "asker" : "nestedAsker";
    expect(await server.client.runs.wait(id, graph, { command: { resume: "yes" } })).toMatchObject({ answer: "yes" });
    expect(await server.client.threads.get(id)).toMatchObject({ status: "idle", interrupts: {} });
  });

  it("asks again before a call that was to be confirmed for another workspace, and then makes it once", async () => {
    const yes = { command: { resume: { decisions: [{ type: "approve" as const }] } } };
    await server.client.runs.wait(asks, "agent", yes);
    // The approval names the workspace; this one has moved.
    const again = Object.values((await server.client.threads.get(asks)).interrupts).flat();
    expect(again).toMatchObject([{ value: { kind: "confirmation", problem: expect.stringContaining("has changed") } }]);
    expect(await exists(join(folder, "workspace", "asks"))).toBe(true);
    await server.client.runs.wait(asks, "agent", yes);
    expect(await exists(join(folder, "workspace", "asks"))).toBe(false);
    expect(await messages(asks)).toEqual([
      "human: asks please, delete it",
      "ai: ",
      "tool: Deleted the folder asks/ with everything in it.",
      "ai: Said after the tool.",
    ]);
  });
});
