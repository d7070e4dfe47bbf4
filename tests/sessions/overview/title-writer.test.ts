import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { expect, test } from "vitest";
import { builtInPrompts } from "../../../src/prompts/prompts.ts";
import { putValues } from "@millrace/engine/sessions/state/prune";
import { startTitleWriter } from "../../../src/sessions/overview/title-writer.ts";
import type { Run } from "@millrace/engine/storage/records";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { createTestStorage, type TestStorage } from "../../support/test-storage.ts";

/** A model that waits until it is let go, and counts how often it was asked. */
class SlowModel extends FakeListChatModel {
  asked: string[] = [];
  readonly gate = Promise.withResolvers<void>();

  override async _generate(...[messages, options, manager]: Parameters<FakeListChatModel["_generate"]>) {
    this.asked.push(messages.map(({ text }) => text).join("\n"));
    const aborted = Promise.withResolvers<never>();
    options?.signal?.addEventListener("abort", () => aborted.reject(new Error("aborted")));
    await Promise.race([this.gate.promise, aborted.promise]);
    return super._generate(messages, options, manager);
  }
}

async function sessionWith(storage: TestStorage, id: string, metadata: Record<string, unknown> = {}): Promise<Run> {
  await storage.sessions.create(sessionRecord(id, { metadata }));
  await putValues(storage.checkpointer, id, undefined, {
    messages: [
      new HumanMessage({ id: "h", content: "How do I mend a lighthouse?" }),
      new AIMessage({ id: "a", content: "<think>hm</think>With patience." }),
    ],
  });
  return runRecord(`run of ${id}`, id, { status: "success" });
}

function writer(storage: TestStorage, model: BaseChatModel | undefined) {
  const noted: object[] = [];
  const titles = startTitleWriter({
    storage,
    loadModel: () => model ?? new SlowModel({ responses: [] }),
    model: () => (model === undefined ? undefined : "openai:titles"),
    prompts: builtInPrompts,
    logger: { debug: (fields: object) => noted.push(fields) },
  });
  return { ...titles, noted };
}

const metadataOf = (storage: TestStorage, id: string) => storage.rows.session(id)?.metadata;

test("a session gets a title from its first exchange, once", async () => {
  const storage = createTestStorage();
  const model = new SlowModel({ responses: ['"Mending a lighthouse"', "never asked"] });
  const titles = writer(storage, model);
  const run = await sessionWith(storage, "s1");
  titles.consider(run);
  titles.consider(run);
  await expect.poll(() => model.asked.length).toBe(1);
  expect(model.asked[0]).toContain("How do I mend a lighthouse?");
  expect(model.asked[0]).toContain("With patience.");
  expect(model.asked[0]).not.toContain("hm");
  model.gate.resolve();
  await expect.poll(() => metadataOf(storage, "s1")).toEqual({ title: "Mending a lighthouse" });
  titles.consider(run);
  await titles.stop();
  expect([model.asked.length, titles.noted]).toEqual([1, []]);
});

test.each<[string, Record<string, unknown>, Partial<Run>]>([
  ["that a user has named", { name: "Mine" }, {}],
  ["that has a title", { title: "Old" }, {}],
  ["whose run failed", {}, { status: "error" }],
  ["that is made for one run", {}, { kwargs: { ...runRecord("r", "s").kwargs, temporary: true } }],
])("a session %s is left alone", async (_, metadata, run) => {
  const storage = createTestStorage();
  const model = new SlowModel({ responses: ["no"] });
  model.gate.resolve();
  const titles = writer(storage, model);
  titles.consider({ ...(await sessionWith(storage, "s1", metadata)), ...run });
  await titles.stop();
  expect([model.asked, metadataOf(storage, "s1")]).toEqual([[], metadata]);
});

test("no title is requested without a model", async () => {
  const storage = createTestStorage();
  const titles = writer(storage, undefined);
  titles.consider(await sessionWith(storage, "s1"));
  await titles.stop();
  expect([metadataOf(storage, "s1"), titles.noted]).toEqual([{}, []]);
});

test("a model that says nothing usable is noted, and the title stays that of the rule", async () => {
  const storage = createTestStorage();
  const model = new SlowModel({ responses: ["…"] });
  model.gate.resolve();
  const titles = writer(storage, model);
  titles.consider(await sessionWith(storage, "s1"));
  await expect.poll(() => titles.noted).toEqual([{ session_id: "s1", reason: "The model gave no title." }]);
  await titles.stop();
  expect(metadataOf(storage, "s1")).toEqual({});
});

test("a stop ends what is under way and takes nothing new; a name given meanwhile goes before the title", async () => {
  const storage = createTestStorage();
  const model = new SlowModel({ responses: ["Late title"] });
  const titles = writer(storage, model);
  const run = await sessionWith(storage, "s1");
  titles.consider(run);
  await expect.poll(() => model.asked.length).toBe(1);
  await titles.stop();
  titles.consider(run);
  expect(model.asked.length).toBe(1);
  expect(metadataOf(storage, "s1")).toEqual({});
  expect(titles.noted).toHaveLength(1);
});
