import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/testing.ts";

interface Waiting {
  id: string;
  kind: string;
  tool: string | null;
  args: Record<string, unknown> | null;
  question: string;
  hash: string | null;
  asked_at: string;
  expires_at: string | null;
  effect: Record<string, unknown> | null;
  value: unknown;
}

let server: TestServer;
let folder = "";
let graphs = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-approvals-"));
  graphs = join(folder, "langgraph.json");
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const served = {
    agent: `${at("../../../src/graph/workflow.ts")}:workflow`,
    twoDepths: `${at("../../support/test-graphs.ts")}:twoDepths`,
  };
  await writeFile(graphs, JSON.stringify({ graphs: served }));
  server = await startTestServer({ graphs });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

async function waiting(threadId: string, language = "en", at = server): Promise<Waiting[]> {
  const response = await at.send("GET", `/threads/${threadId}/approvals`, undefined, { "accept-language": language });
  expect(response.status).toBe(200);
  // The assertions check the shape.
  return (await response.json()) as Waiting[];
}

interface Answered {
  repeated: boolean;
  run_id: string;
  decision: { decisions: { type: string }[] };
}

const bodyOf = async (response: Response): Promise<Answered> => (await response.json()) as Answered;

async function answer(threadId: string, id: string, decision: unknown, at = server): Promise<Response> {
  return at.send("POST", `/threads/${threadId}/approvals/${id}`, decision);
}

/** Waits until the thread has no active run. */
async function settled(threadId: string, at = server): Promise<void> {
  const runs = await at.client.runs.list(threadId);
  for (const run of runs) await at.client.runs.join(threadId, run.run_id);
}

async function put(path: string, text = "x"): Promise<void> {
  const full = join(server.config.workspace, path);
  await mkdir(join(full, ".."), { recursive: true });
  await writeFile(full, text);
}

const exists = (path: string): Promise<boolean> =>
  access(join(server.config.workspace, path)).then(
    () => true,
    () => false,
  );

/** A thread of the workflow that waits for approval of what `text` requests. */
async function askAgent(
  text: string,
  at = server,
  context: Record<string, unknown> = {},
): Promise<{ threadId: string; asked: Waiting }> {
  const { thread_id } = await at.client.threads.create();
  await at.client.runs.wait(thread_id, "agent", { input: { messages: [{ role: "user", content: text }] }, context });
  const [asked] = await waiting(thread_id, "en", at);
  if (asked === undefined) throw new Error("nothing was asked");
  return { threadId: thread_id, asked };
}

async function askTwice(): Promise<{ threadId: string; shallow: Waiting; deep: Waiting }> {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, "twoDepths", { input: { answers: [] } });
  const list = await waiting(thread_id);
  const shallow = list.find(({ question }) => question === "Which one?");
  const deep = list.find(({ question }) => question === "How deep?");
  if (shallow === undefined || deep === undefined || list.length !== 2) throw new Error(JSON.stringify(list));
  return { threadId: thread_id, shallow, deep };
}

const valuesOf = async (threadId: string): Promise<unknown> => (await server.client.threads.getState(threadId)).values;

describe("the questions of a thread", () => {
  it("are listed with what an approval would run, and are answered by id", async () => {
    await put("old/a.txt");
    const { threadId, asked } = await askAgent("delete the folder old");
    expect(asked).toMatchObject({
      kind: "confirmation",
      tool: "delete_file",
      args: { path: "old" },
      question: "Delete the folder old with 1 item in it? You can undo this.",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      expires_at: null,
      value: { kind: "confirmation" },
    });
    expect(asked.effect).toMatchObject({
      kind: "delete",
      summary: "Delete old",
      operation: { type: "DeleteFolder", entries: 1 },
      paths: ["old"],
      undoable: true,
    });
    const [everywhere] = (await (await server.send("GET", `/approvals?thread_id=${threadId}`)).json()) as Waiting[];
    expect(everywhere?.effect).toEqual(asked.effect);
    expect((await waiting(threadId, "zh-CN,zh;q=0.9,en;q=0.5"))[0]?.question).toBe(
      "要删除文件夹 old 及其中的 1 项吗？此操作可以撤销。",
    );
    expect((await waiting(threadId, "en,zh;q=0.5"))[0]?.question).toContain("Delete");

    const answered = await answer(threadId, asked.id, { type: "approve", hash: asked.hash });
    expect(await waiting(threadId)).toEqual([]);
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ id: asked.id, repeated: false, decided_by: "person" });
    await settled(threadId);
    expect(await exists("old")).toBe(false);
  });

  it("are copied with the thread, and an answer in the copy applies to the copy only", async () => {
    await put("copied/a.txt");
    const chosen = { result_mode: "show", temperature: 0.5 };
    const { threadId, asked } = await askAgent("delete the folder copied", server, chosen);
    const copy = (await server.client.threads.copy(threadId)) as unknown as { thread_id: string; status: string };
    expect(copy).toMatchObject({ status: "interrupted" });
    expect(await server.client.threads.get(copy.thread_id)).toMatchObject({ status: "interrupted" });
    const [again, ...others] = await waiting(copy.thread_id);
    expect(others).toEqual([]);
    expect(again).toMatchObject({ tool: "delete_file", args: { path: "copied" }, hash: asked.hash });
    const answered = await answer(copy.thread_id, again?.id ?? "", { type: "approve" });
    expect(answered.status).toBe(200);
    await settled(copy.thread_id);
    // It continues with the context of the run that asked.
    expect((await server.client.runs.list(copy.thread_id))[0]).toMatchObject({ kwargs: { context: chosen } });
    expect(await waiting(copy.thread_id)).toEqual([]);
    expect(await exists("copied")).toBe(false);
    expect(await server.client.threads.get(copy.thread_id)).toMatchObject({ status: "idle" });
    expect(await waiting(threadId)).toHaveLength(1);
  });

  it.each(["deep first", "shallow first", "both at once"])(
    "of a graph and its subgraph are answered in any order: %s",
    async (order) => {
      const { threadId, shallow, deep } = await askTwice();
      expect(shallow.kind).toBe("clarify");
      const decide = (asked: Waiting, value: string): Promise<Response> =>
        answer(threadId, asked.id, { type: "answer", value });
      const steps = [() => decide(deep, "very"), () => decide(shallow, "this one")];
      if (order === "shallow first") steps.reverse();
      if (order === "both at once") {
        for (const response of await Promise.all(steps.map((step) => step()))) expect(response.status).toBe(200);
      } else {
        expect((await steps[0]?.())?.status).toBe(200);
        expect(await waiting(threadId)).toHaveLength(1);
        await settled(threadId);
        expect(await waiting(threadId)).toHaveLength(1);
        expect((await steps[1]?.())?.status).toBe(200);
      }
      expect(await waiting(threadId)).toEqual([]);
      await settled(threadId);
      const { answers } = (await valuesOf(threadId)) as { answers: string[] };
      expect(answers.toSorted()).toEqual(["deep: very", "shallow: this one"]);
    },
  );

  it("treat a second answer as a repetition of the first, also when both arrive at once", async () => {
    await put("twice/a.txt");
    const { threadId, asked } = await askAgent("delete the folder twice");
    const both = await Promise.all([
      answer(threadId, asked.id, { type: "reject", message: "not yet" }),
      answer(threadId, asked.id, { type: "approve" }),
    ]);
    const bodies = await Promise.all(both.map(bodyOf));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(bodies.filter(({ repeated }) => repeated)).toHaveLength(1);
    const [one, other] = bodies;
    expect(one?.decision).toEqual(other?.decision);
    await settled(threadId);
    const later = await (await answer(threadId, asked.id, { type: "approve" })).json();
    expect(later).toMatchObject({ repeated: true, decision: one?.decision, run_id: one?.run_id });
    const approved = one?.decision.decisions[0]?.type === "approve";
    expect(await exists("twice/a.txt")).toBe(!approved);
    expect(await server.client.runs.list(threadId)).toHaveLength(2);
  });

  it("are answered with 404, 409 or 400 when they are unknown, outdated or invalid, and nothing runs", async () => {
    await put("kept/a.txt");
    const { threadId, asked } = await askAgent("delete the folder kept");
    expect((await answer(threadId, "f".repeat(32), { type: "approve" })).status).toBe(404);
    expect((await answer(crypto.randomUUID(), asked.id, { type: "approve" })).status).toBe(404);
    expect((await answer(threadId, asked.id, { type: "approve", hash: "0".repeat(64) })).status).toBe(409);
    expect((await answer(threadId, asked.id, { type: "perhaps" })).status).toBe(400);
    expect((await answer(threadId, asked.id, { type: "answer", value: "yes" })).status).toBe(400);
    const remember = { tool: "delete_file", path_pattern: "**" };
    const remembered = await answer(threadId, asked.id, { type: "approve", remember });
    expect([remembered.status, await remembered.text()]).toEqual([
      400,
      expect.stringContaining("cannot be remembered"),
    ]);
    expect(await waiting(threadId)).toHaveLength(1);

    const hello = { messages: [{ role: "user", content: "Hello there" }] };
    await server.client.runs.wait(threadId, "agent", { input: hello });
    expect(await waiting(threadId)).toEqual([]);
    expect((await answer(threadId, asked.id, { type: "approve" })).status).toBe(409);
    expect(await exists("kept/a.txt")).toBe(true);
  });

  it("can also be answered by command.resume, once", async () => {
    await put("plain/a.txt");
    const { threadId, asked } = await askAgent("delete the folder plain");
    const command = { resume: { decisions: [{ type: "approve" }] } };
    await server.client.runs.wait(threadId, "agent", { command });
    expect(await exists("plain")).toBe(false);
    expect(await (await answer(threadId, asked.id, { type: "reject" })).json()).toMatchObject({
      repeated: true,
      decision: command.resume,
    });
    const again = await server.send("POST", `/threads/${threadId}/runs`, {
      assistant_id: "agent",
      command: { resume: { [asked.id]: command.resume } },
    });
    expect(again.status).toBe(422);
  });

  it("run with the edited arguments of the answer", async () => {
    await put("edit/a.txt");
    await put("edit/b.txt");
    const { threadId, asked } = await askAgent("delete the folder edit");
    await answer(threadId, asked.id, { type: "edit", args: { path: "edit/b.txt" } });
    await settled(threadId);
    expect([await exists("edit/a.txt"), await exists("edit/b.txt")]).toEqual([true, false]);
  });

  it("are open again when the run with the answer was stopped before it started", async () => {
    const { threadId, shallow } = await askTwice();
    // Delayed, so that it is surely not started.
    const run = await server.client.runs.create(threadId, "twoDepths", {
      command: { resume: { [shallow.id]: "late" } },
      afterSeconds: 3600,
    });
    expect(await waiting(threadId)).toHaveLength(1);
    await server.client.runs.cancel(threadId, run.run_id, true);
    expect(await waiting(threadId)).toHaveLength(2);
  });
});

describe("a remembered approval", () => {
  it("is listed, replaces the question, and is asked for again once it is revoked", async () => {
    const path = (name: string): string => `drafts/${name}.txt`;
    for (const name of ["one", "two", "three"]) await put(path(name));
    await put("drafts/package.json", "{}");
    // A critical file always needs approval.
    const request = (what: string): string => `delete the file drafts/${what}`;
    await put("drafts/.gitignore");
    await put("drafts/.npmrc");
    await put("drafts/.editorconfig");
    const { threadId, asked } = await askAgent(request(".gitignore"));
    const remember = { tool: "delete_file", path_pattern: "drafts/**" };
    expect((await answer(threadId, asked.id, { type: "approve", remember })).status).toBe(200);
    await settled(threadId);
    const listed = await server.send("GET", `/threads/${threadId}/grants`);
    const grants = (await listed.json()) as { grant_id: string }[];
    expect(grants).toMatchObject([{ ...remember, interrupt_id: asked.id }]);

    const send = (what: string) =>
      server.client.runs.wait(threadId, "agent", {
        input: { messages: [{ role: "user", content: request(what) }] },
      });
    await send(".npmrc");
    expect([await exists("drafts/.gitignore"), await exists("drafts/.npmrc")]).toEqual([false, false]);
    expect(await waiting(threadId)).toEqual([]);

    const revoke = (): Promise<Response> => server.send("DELETE", `/threads/${threadId}/grants/${grants[0]?.grant_id}`);
    expect((await revoke()).status).toBe(204);
    expect((await revoke()).status).toBe(404);
    await send(".editorconfig");
    expect(await waiting(threadId)).toHaveLength(1);
    expect(await exists("drafts/.editorconfig")).toBe(true);
  });
});

describe("a question with a timeout", () => {
  it("survives a restart, and is then rejected with the timeout as the reason", async () => {
    await put("slow/a.txt");
    const first = await startTestServer({ graphs, workspace: server.config.workspace });
    let second: TestServer | undefined;
    try {
      const { threadId, asked } = await askAgent("delete the folder slow", first);
      await first.close();
      second = await first.restart();
      expect(await waiting(threadId, "en", second)).toEqual([asked]);
      await second.close();

      // A timeout shorter than the time since the question.
      second.config.approvalTimeoutHours = 1 / 3_600_000;
      second = await second.restart();
      const late = await (await answer(threadId, asked.id, { type: "approve" }, second)).json();
      expect(late).toMatchObject({
        repeated: true,
        decided_by: "timeout",
        decision: { decisions: [{ type: "reject" }] },
      });
      await settled(threadId, second);
      expect(await exists("slow/a.txt")).toBe(true);
      const { messages } = (await second.client.threads.getState(threadId)).values as {
        messages: { content: string }[];
      };
      expect(messages.some(({ content }) => content.includes("Nobody answered within"))).toBe(true);
    } finally {
      await (second ?? first).close();
      await first.remove();
    }
  });
});
