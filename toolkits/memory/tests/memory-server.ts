import { join } from "node:path";
import { z } from "zod";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const Thread = z.looseObject({ thread_id: z.string() });
const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
const Saved = z.object({ data: z.looseObject({ id: z.string(), content: z.string() }) });
/** A response with a list of memories. */
export const Listed = z.looseObject({ data: z.array(z.looseObject({ content: z.string() })), is_on: z.boolean() });

/** A model step that calls the memory tool. */
export const manage = (args: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name: "manage_memory", arguments: args }],
});

/** The system text of a model call. */
export const systemOf = (sent: { requests: ModelServer["requests"] }, at = 0): string =>
  String(sent.requests[at]?.messages[0]?.content);

/** What an owner of a key can do on a server. */
export type Owner = ReturnType<typeof ownerOf>;

/** A server with a scripted model and six owners: ada, bob, cat, dan, eve and fay. */
export interface MemoryServer {
  model: ModelServer;
  /** Tests that restart the server replace it. */
  server: TestServer;
  /** The requests of an owner, to this server or to another one. */
  by(owner: string, at?: TestServer): Owner;
  close(): Promise<void>;
}

/** Starts a server with a scripted model. */
export async function startMemoryServer(): Promise<MemoryServer> {
  const model = await startModelServer({ script: [] });
  const memory: MemoryServer = {
    model,
    server: await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
      apiKeys: ["ada", "bob", "cat", "dan", "eve", "fay"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    }),
    by: (owner, at = memory.server) => ownerOf(owner, at, model),
    async close() {
      await memory.server.remove();
      await model.close();
    },
  };
  return memory;
}

function ownerOf(owner: string, at: TestServer, model: ModelServer) {
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    at.send(method, path, body, { "x-api-key": `key-of-${owner}` });
  const json = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await send(method, path, body);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  return {
    send,
    json,
    thread: async () => Thread.parse(await json("POST", "/threads", {})).thread_id,
    /** One turn; gives what the tools said, and what the model was sent. */
    async say(thread: string, content: string, steps: ModelStep[] = [{ text: "Fine." }], context: object = {}) {
      const from = model.requests.length;
      model.push(...steps);
      const body = { assistant_id: "agent", input: { messages: [{ role: "user", content }] }, context };
      const { messages } = Values.parse(await json("POST", `/threads/${thread}/runs/wait`, body));
      return {
        said: messages.filter(({ type }) => type === "tool").map((message) => message.content),
        requests: model.requests.slice(from),
      };
    },
    save: async (content: string, kind = "fact") =>
      Saved.parse(await json("POST", "/api/memory", { kind, content })).data.id,
    list: async () => Listed.parse(await json("GET", "/api/memory")).data.map(({ content }) => content),
  };
}
