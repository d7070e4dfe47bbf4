import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    apiKeys: ["ada", "bob", "cat", "dan", "eve", "fay"].map((owner) => ({ owner, key: `key-of-${owner}` })),
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

const Thread = z.looseObject({ thread_id: z.string() });
const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
const Saved = z.object({ data: z.looseObject({ id: z.string(), content: z.string() }) });
const Listed = z.looseObject({ data: z.array(z.looseObject({ content: z.string() })), is_on: z.boolean() });

const manage = (args: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name: "manage_memory", arguments: args }],
});

/** What an owner does. */
function by(owner: string, at = server) {
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

const systemOf = (sent: { requests: ModelServer["requests"] }, at = 0): string =>
  String(sent.requests[at]?.messages[0]?.content);

describe("what a model saves", () => {
  it("is shown in the owner's next session, and in no other owner's", async () => {
    const [ada, bob] = [by("ada"), by("bob")];
    const first = await ada.say(await ada.thread(), "Remember that I want metric units.", [
      manage({ action: "save", kind: "preference", content: "Wants metric units" }),
      { text: "Noted." },
    ]);
    expect(first.requests[0]?.toolNames).toContain("manage_memory");
    expect(first.said[0]).toMatch(/^Saved to memory:\n- \[[0-9a-f]{8}\] preference: Wants metric units$/u);
    const next = await ada.say(await ada.thread(), "How long is a marathon?");
    expect(systemOf(next)).toContain("preference: Wants metric units");
    expect(next.requests[0]?.toolNames).toContain("manage_memory");
    const others = await bob.say(await bob.thread(), "How long is a marathon?");
    expect(JSON.stringify(others.requests)).not.toMatch(/metric units|manage_memory/u);
    expect(await bob.list()).toEqual([]);
  });

  it("is kept in Chinese, shown for a greeting too, and outlives the server", async () => {
    const cat = by("cat");
    const { said } = await cat.say(await cat.thread(), "请记住：我住在上海。", [
      manage({ action: "save", kind: "entity", slot: "城市", content: "上海" }),
      { text: "好的。" },
    ]);
    expect(said[0]).toContain("城市: 上海");
    await server.close();
    server = await server.restart();
    const hello = await by("cat").say(await by("cat").thread(), "你好");
    expect(systemOf(hello)).toContain("城市: 上海");
    expect(hello.requests[0]?.toolNames).toEqual([]);
  });

  it("takes the place of what says the same, and of what filled the slot", async () => {
    const dan = by("dan");
    const thread = await dan.thread();
    const entity = { action: "save", kind: "entity", slot: "employer" };
    const { said } = await dan.say(thread, "Remember some things.", [
      manage({ action: "save", content: "Likes tea." }),
      manage({ action: "save", content: "likes  TEA" }),
      manage({ ...entity, content: "Acme" }),
      manage({ ...entity, content: "Globex" }),
      { text: "Done." },
    ]);
    expect(said.map((text) => text.split(":")[0])).toEqual([
      "Saved to memory",
      "Memory updated, it was there before",
      "Saved to memory",
      "Memory updated, it was there before",
    ]);
    expect(await dan.list()).toEqual(["Globex", "likes TEA"]);
    expect(systemOf(await dan.say(await dan.thread(), "Hello again, what is new?"))).toMatch(
      /employer: Globex\n- \[\w+\] likes TEA/u,
    );
  });

  it("is changed, searched and deleted by the model, which gets errors for wrong calls", async () => {
    const eve = by("eve");
    const id = await eve.save("Has a cat called Tom");
    const { said } = await eve.say(await eve.thread(), "Update your memory about my cat.", [
      manage({ action: "search", query: "cat" }),
      manage({ action: "update", memory_id: id, content: "Has a cat called Tim" }),
      manage({ action: "update", memory_id: "none", content: "Has a dog" }),
      manage({ action: "save", kind: "entity", content: "Tim" }),
      manage({ action: "delete" }),
      manage({ action: "save", content: "My password is hunter2!" }),
      { text: "Done." },
    ]);
    expect(said[0]).toContain(`[${id}] Has a cat called Tom`);
    expect(said[1]).toContain(`[${id}] Has a cat called Tim`);
    expect(said[2]).toContain('There is no memory with the id "none"');
    expect(said[3]).toContain("expected a slot with the kind entity");
    expect(said[4]).toContain("The action delete needs memory_id");
    expect(said[5]).toContain("Not saved: the text looks like it holds a password");
    expect(said[5]).not.toContain("hunter2");
    expect(await eve.list()).toEqual(["Has a cat called Tim"]);
    await eve.say(await eve.thread(), "Forget my cat.", [
      manage({ action: "delete", memory_id: id }),
      { text: "Done." },
    ]);
    expect(await eve.list()).toEqual([]);
  });
});

describe("the memories shown in a session", () => {
  it("stay byte for byte the same, whatever is saved, changed or deleted meanwhile, and after a restart", async () => {
    const fay = by("fay");
    const id = await fay.save("Studies law");
    const thread = await fay.thread();
    const turns = [await fay.say(thread, "Explain torts to me in a sentence, please.")];
    await fay.json("PATCH", `/api/memory/${id}`, { content: "Studies medicine" });
    await fay.save("Plays chess");
    turns.push(
      await fay.say(thread, "Remember that I have a bicycle.", [
        manage({ action: "save", content: "Has a bicycle" }),
        { text: "Noted." },
      ]),
    );
    await fay.json("DELETE", `/api/memory/${id}`);
    await server.close();
    server = await server.restart();
    turns.push(await by("fay").say(thread, "And what about contracts, which I asked you about?"));
    const requests = turns.flatMap((turn) => turn.requests);
    expect(requests).toHaveLength(4);
    for (const [at, request] of requests.entries()) {
      const before = requests[at - 1];
      if (before === undefined) continue;
      expect(request.toolNames).toEqual(before.toolNames);
      expect(JSON.stringify(request.messages).startsWith(JSON.stringify(before.messages).slice(0, -1))).toBe(true);
    }
    expect(JSON.stringify(requests)).toContain("Studies law");
    expect(JSON.stringify(requests)).not.toMatch(/medicine|chess/u);
    const fresh = systemOf(await by("fay").say(await by("fay").thread(), "What do I do on Sundays?"));
    expect(fresh).toContain("Plays chess");
    expect(fresh).toContain("Has a bicycle");
    expect(fresh).not.toMatch(/law|medicine/u);
  });
});

describe("the API", () => {
  const owner = (): ReturnType<typeof by> => by("bob");
  beforeEach(async () => void (await owner().json("DELETE", "/api/memory")));

  it("lists, reads, changes and deletes, for the caller alone", async () => {
    const id = await owner().save("Speaks Danish");
    await owner().save("Prefers short answers", "preference");
    expect(await owner().json("GET", "/api/memory?kind=preference")).toMatchObject({
      data: [{ kind: "preference", slot: null, content: "Prefers short answers" }],
      is_on: true,
      limits: { memories: 200, characters: 500, total: 40_000 },
    });
    expect(await owner().json("GET", "/api/memory?query=danish")).toMatchObject({ data: [{ id }, {}] });
    for (const [method, body] of [["GET"], ["PATCH", { content: "stolen" }], ["DELETE"]] as const) {
      expect((await by("cat").send(method, `/api/memory/${id}`, body)).status).toBe(404);
    }
    const changed = { kind: "entity", slot: "language", content: "Danish" };
    expect(await owner().json("PATCH", `/api/memory/${id}`, changed)).toMatchObject({ data: { id, ...changed } });
    expect(await owner().json("GET", `/api/memory/${id}`)).toMatchObject({ data: changed });
    await owner().json("DELETE", `/api/memory/${id}`);
    expect(await owner().list()).toEqual(["Prefers short answers"]);
    expect(await owner().json("DELETE", "/api/memory")).toEqual({ data: { deleted: 1 } });
  });

  it.each([
    [{ kind: "fact", content: "x".repeat(501) }, 400, "at most 500 characters"],
    [{ kind: "fact", slot: "city", content: "Oslo" }, 400, "expected a slot with the kind entity"],
    [{ kind: "fact", content: "My API key is abc" }, 403, "password"],
    [{ kind: "fact", content: "The database has key-of-dan" }, 403, "password"],
  ])("refuses %j", async (body, status, words) => {
    const response = await owner().send("POST", "/api/memory", body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(words);
    expect(await owner().list()).toEqual([]);
  });

  it("says that the memory is full, by number and by length, and has room again when one is deleted", async () => {
    const long = (at: number): string => `${at} ${"long ".repeat(99)}`.slice(0, 500).trim();
    await Promise.all(Array.from({ length: 80 }, (_, at) => owner().save(long(at))));
    const body = { kind: "fact", content: long(99) };
    const response = await owner().send("POST", "/api/memory", body);
    expect(response.status).toBe(413);
    expect(await response.text()).toMatch(/the memory is full, \d+ of 40000 characters are taken/u);
    await owner().json("DELETE", "/api/memory");
    await Promise.all(Array.from({ length: 200 }, (_, at) => owner().save(`Fact ${at}`)));
    const ids = Listed.parse(await owner().json("GET", "/api/memory")).data.map(({ id }) => id);
    expect(await (await owner().send("POST", "/api/memory", body)).text()).toContain("200 of 200 memories are there");
    const system = systemOf(await owner().say(await owner().thread(), "Tell me Fact 7"));
    expect(system).toContain("] Fact 7\n");
    expect(system.match(/\] Fact \d+/gu)?.length).toBeLessThan(150);
    await owner().json("DELETE", `/api/memory/${String(ids[0])}`);
    expect((await owner().send("POST", "/api/memory", body)).status).toBe(200);
  });

  it("saves one memory of many that say the same and come at once", async () => {
    const many = Array.from({ length: 8 }, (_, at) => owner().save(at % 2 === 0 ? "Owns a boat" : "owns a boat!"));
    expect(new Set(await Promise.all(many)).size).toBe(1);
    expect(await owner().list()).toHaveLength(1);
  });
});

it("memories are found by meaning where the store has an index, also after a change", async () => {
  const meaning = (text: string): number[] =>
    [/\b(?:pet|cat)/iu, /\b(?:vehicle|boat)/iu].map((of) => Number(of.test(text)));
  const embedding = await startModelServer({ embed: (text) => [...meaning(text), 0.1] });
  const folder = await mkdtemp(join(tmpdir(), "millrace-memory-"));
  const graphs = { agent: `${join(projectFolder, "src/graph/workflow.ts")}:workflow` };
  const index = { embed: "openai:text-embedding-3-small", dims: 3 };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs, store: { index } }));
  const indexed = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    openai: { apiKey: "test-key", baseUrl: embedding.url },
    apiKeys: [{ owner: "ada", key: "key-of-ada" }],
  });
  try {
    const ada = by("ada", indexed);
    const first = await ada.save("Has a cat");
    await ada.save("Owns a boat");
    const found = async (query: string): Promise<string | undefined> =>
      Listed.parse(await ada.json("GET", `/api/memory?query=${query}`)).data[0]?.content;
    expect([await found("pets"), await found("vehicles")]).toEqual(["Has a cat", "Owns a boat"]);
    await ada.json("PATCH", `/api/memory/${first}`, { content: "Sold the boat" });
    await ada.save("Feeds a cat");
    expect(await found("pets")).toBe("Feeds a cat");
  } finally {
    await indexed.remove();
    await embedding.close();
    await rm(folder, { recursive: true });
  }
});

describe("switched off", () => {
  it("by a run, neither the memories nor the tool are shown", async () => {
    const ada = by("ada");
    const thread = await ada.thread();
    for (const context of [{ memory: false }, { toolkits: ["files"] }]) {
      const { requests } = await ada.say(thread, "Remember my favourite colour.", [{ text: "Fine." }], context);
      expect(JSON.stringify(requests)).not.toMatch(/metric units|manage_memory/u);
    }
    // The session has begun without them.
    expect(systemOf(await ada.say(thread, "What do you remember?"))).not.toContain("metric units");
  });

  it("by the server, nothing is shown or saved; stored memories can be read and deleted", async () => {
    await server.close();
    const off = await server.restart({ memory: false });
    try {
      const ada = by("ada", off);
      const { requests, said } = await ada.say(await ada.thread(), "Remember that I sing.", [
        manage({ action: "save", content: "Sings" }),
        { text: "Fine." },
      ]);
      expect(requests[0]?.toolNames).not.toContain("manage_memory");
      expect(systemOf({ requests })).not.toContain("metric units");
      expect(said[0]).not.toContain("Saved");
      expect((await ada.send("POST", "/api/memory", { kind: "fact", content: "Sings" })).status).toBe(403);
      const listed = Listed.parse(await ada.json("GET", "/api/memory"));
      expect(listed).toMatchObject({ is_on: false, data: [{ content: "Wants metric units" }] });
      await ada.json("DELETE", "/api/memory");
      expect(await ada.list()).toEqual([]);
    } finally {
      await off.close();
      server = await server.restart();
    }
  });
});
