import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Listed, manage, startMemoryServer, systemOf, type MemoryServer } from "./memory-server.ts";

let memory: MemoryServer;
beforeAll(async () => {
  memory = await startMemoryServer();
});
afterAll(() => memory.close());

describe("what a model saves", () => {
  it("is shown in the owner's next session, and in no other owner's", async () => {
    const [ada, bob] = [memory.by("ada"), memory.by("bob")];
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
    const cat = memory.by("cat");
    const { said } = await cat.say(await cat.thread(), "请记住：我住在上海。", [
      manage({ action: "save", kind: "entity", slot: "城市", content: "上海" }),
      { text: "好的。" },
    ]);
    expect(said[0]).toContain("城市: 上海");
    await memory.server.close();
    memory.server = await memory.server.restart();
    const hello = await memory.by("cat").say(await memory.by("cat").thread(), "你好");
    expect(systemOf(hello)).toContain("城市: 上海");
    expect(hello.requests[0]?.toolNames).toEqual([]);
  });

  it("takes the place of what says the same, and of what filled the slot", async () => {
    const dan = memory.by("dan");
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
    const eve = memory.by("eve");
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
    const fay = memory.by("fay");
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
    await memory.server.close();
    memory.server = await memory.server.restart();
    turns.push(await memory.by("fay").say(thread, "And what about contracts, which I asked you about?"));
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
    const fresh = systemOf(await memory.by("fay").say(await memory.by("fay").thread(), "What do I do on Sundays?"));
    expect(fresh).toContain("Plays chess");
    expect(fresh).toContain("Has a bicycle");
    expect(fresh).not.toMatch(/law|medicine/u);
  });
});

describe("switched off", () => {
  it("by a run, neither the memories nor the tool are shown", async () => {
    const ada = memory.by("ada");
    const thread = await ada.thread();
    for (const context of [{ memory: false }, { toolkits: ["files"] }]) {
      const { requests } = await ada.say(thread, "Remember my favourite colour.", [{ text: "Fine." }], context);
      expect(JSON.stringify(requests)).not.toMatch(/metric units|manage_memory/u);
    }
    // The session has begun without them.
    expect(systemOf(await ada.say(thread, "What do you remember?"))).not.toContain("metric units");
  });

  it("by the server, nothing is shown or saved; stored memories can be read and deleted", async () => {
    await memory.server.close();
    const off = await memory.server.restart({ memory: false });
    try {
      const ada = memory.by("ada", off);
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
      memory.server = await memory.server.restart();
    }
  });
});
