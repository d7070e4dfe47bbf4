import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, wireText, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { startWebServer, type WebServer } from "@millrace/testing/web-server";
import { loadConfig } from "@millrace/engine/config/config";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** A model without native tool calls, on the scripted server. */
const textModel = "ollama:deepseek-coder:6.7b";

let server: TestServer;
let model: ModelServer;
let web: WebServer;

/** The stream of the model's first reply stays open until `release`. */
let release: () => void;
let held: Promise<void>;
/** Answers the page `/slow`. */
let loadSlow: () => void;

async function start(...script: ModelStep[]): Promise<void> {
  const { promise: slow, resolve } = Promise.withResolvers<void>();
  loadSlow = resolve;
  web = await startWebServer(async ({ path }) => {
    if (path === "/slow") await slow;
    return { body: `The page ${path}` };
  });
  model = await startModelServer({ script });
  const { web: settings } = loadConfig({ MILLRACE_WEB_FETCH: "on", MILLRACE_WEB_ALLOW: web.host });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    ollamaBaseUrl: model.ollamaUrl,
    model: textModel,
    web: settings,
  });
}

function holding(): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  [held, release] = [promise, resolve];
}

afterEach(async () => {
  release();
  await server.remove();
  await model.close();
  await web.close();
});

const call = (name: string, args: Record<string, string>): string => {
  const parameters = Object.entries(args).map(([key, value]) => `<parameter name="${key}">${value}</parameter>`);
  return `<tool_use>\n<invoke name="${name}">\n${parameters.join("\n")}\n</invoke>\n</tool_use>`;
};
const fetches = (path: string): string => call("web_fetch", { url: `http://WEB${path}` });

/** A reply whose stream waits before its last chunk, with the address of the web server in its calls. */
const holds = (...chunks: string[]): ModelStep => ({
  // Built when the request comes, since the address is not known before.
  get chunks() {
    return chunks.map((chunk) => chunk.replaceAll("WEB", web.host));
  },
  hold: { after: chunks.length - 1, until: held },
});

const Status = z.object({ type: z.literal("tool_status"), tool_name: z.string(), status: z.string() });

interface Turn {
  /** The events of the stream so far: the name and status of each call. */
  statuses: string[];
  threadId: string;
  over: Promise<void>;
}

async function begin(context: Record<string, unknown> = {}): Promise<Turn> {
  const { thread_id: threadId } = await server.client.threads.create();
  const statuses: string[] = [];
  const listen = async (): Promise<void> => {
    const stream = server.client.runs.stream(threadId, "agent", {
      input: { messages: [{ role: "user", content: "Look at the page" }] },
      context: { mode: "free_work", ...context },
      streamMode: ["custom"],
      streamSubgraphs: true,
    });
    for await (const { data } of stream) {
      const status = Status.safeParse(data).data;
      if (status !== undefined) statuses.push(`${status.tool_name} ${status.status}`);
    }
  };
  return { statuses, threadId, over: listen() };
}

async function results(threadId: string): Promise<string[]> {
  const State = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
  const { messages } = State.parse((await server.client.threads.getState(threadId)).values);
  return messages.filter(({ type }) => type === "tool").map(({ content }) => content);
}

const asked = (): string[] => web.hits.map(({ path }) => path).filter((path) => path !== "/robots.txt");

describe("a tool call in the text of a reply", () => {
  it("runs as soon as it is complete, once, while the model still writes", async () => {
    holding();
    await start(holds(`I look.\n${fetches("/one")}`, "\nAnd on.", " Done."), { text: "It says: The page /one." });
    const { statuses, threadId, over } = await begin();
    await expect.poll(asked).toEqual(["/one"]);
    await expect.poll(() => statuses).toEqual(["web_fetch pending", "web_fetch executing"]);
    // The model has not ended its reply: no second request was made.
    expect(model.requests).toHaveLength(1);

    release();
    await over;
    expect(statuses).toEqual(["web_fetch pending", "web_fetch executing", "web_fetch completed"]);
    expect(asked()).toEqual(["/one"]);
    expect(await results(threadId)).toEqual([expect.stringContaining("The page /one")]);
    expect(wireText(model.requests[1]?.messages.at(-1) ?? { role: "none" })).toContain("The page /one");
    model.assertFinished();
  });

  it("runs early behind calls without effects, and after the reply behind a call with effects", async () => {
    holding();
    const file = call("create_file", { path: "a.txt", content: "one" });
    await start(
      holds(fetches("/one"), fetches("/two"), file, call("read_file", { path: "a.txt" }), fetches("/three"), " Done."),
      { text: "Made." },
    );
    const { statuses, threadId, over } = await begin();
    await expect.poll(asked).toEqual(["/one", "/two"]);
    expect(statuses.filter((line) => !line.startsWith("web_fetch"))).toEqual([]);

    release();
    await over;
    expect(asked()).toEqual(["/one", "/two", "/three"]);
    expect((await results(threadId))[3]).toContain("one");
    model.assertFinished();
  });

  it("does not run early if it may not run in this turn", async () => {
    holding();
    await start(holds(fetches("/one"), fetches("/two"), " Done."), { text: "One page is enough." });
    const { statuses, threadId, over } = await begin({ tool_policy: "guarded" });
    await expect.poll(asked).toEqual(["/one"]);
    release();
    await over;
    expect(asked()).toEqual(["/one"]);
    expect(statuses).toContain("web_fetch blocked");
    expect(await results(threadId)).toHaveLength(2);
  });

  it.each([
    ["approve", "/one"],
    ["reject", "/one"],
    ["approve", "/slow"],
  ])("runs once beside a call that needs approval: %s, %s", async (type, path) => {
    holding();
    await start(holds(fetches(path), call("delete_file", { path: "a.txt" }), " Done."), { text: "That was all." });
    await writeFile(join(server.config.workspace, "a.txt"), "one");
    const { statuses, threadId, over } = await begin();
    await expect.poll(asked).toEqual([path]);
    release();
    await expect.poll(() => statuses).toContain("delete_file awaiting_confirmation");
    // The slow page arrives after the question.
    loadSlow();
    await over;

    await server.client.runs.wait(threadId, "agent", {
      command: { resume: { decisions: [{ type }] } },
      context: { mode: "free_work" },
    });
    expect(asked()).toEqual([path]);
    const [page, deletion] = await results(threadId);
    expect(page).toContain(`The page ${path}`);
    expect(deletion).toContain(type === "approve" ? "Deleted" : "refused");
    model.assertFinished();
  });

  it("is cancelled, with an event, when its reply is stopped", async () => {
    holding();
    await start(holds(fetches("/one"), " Done."));
    const { statuses, threadId, over } = await begin();
    await expect.poll(asked).toEqual(["/one"]);
    const [run] = await server.client.runs.list(threadId);
    await server.client.runs.cancel(threadId, run?.run_id ?? "", true);
    await over;
    expect(statuses.at(-1)).toBe("web_fetch cancelled");
    expect(asked()).toEqual(["/one"]);
  });

  it("is cancelled, with an event, when its reply breaks off", async () => {
    holding();
    const reply = holds(fetches("/one"), "\nAnd", " on.");
    await start(Object.assign(reply, { fault: { kind: "cut", after: 2 } as const }));
    const { statuses, over } = await begin();
    await expect.poll(asked).toEqual(["/one"]);
    release();
    await over;
    expect(statuses).toEqual(["web_fetch pending", "web_fetch executing", "web_fetch cancelled"]);
  });
});
