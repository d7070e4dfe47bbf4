import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Run = z.looseObject({ run_id: z.string() });
const List = z.array(
  z.looseObject({
    message_id: z.string(),
    state: z.string(),
    selected_id: z.string().nullable(),
    options: z.array(z.looseObject({ id: z.string() })),
  }),
);
const suggestions = async (id: string): Promise<z.infer<typeof List>> =>
  List.parse(await fixture.json("GET", `/threads/${id}/suggestions`));

/** A thread in which the assistant has proposed something. */
async function withProposal(): Promise<string> {
  const id = await fixture.talk("hello");
  const proposal = {
    status_summary: "Round 3 is done",
    suggestions: ["Go on as before", { id: "stop-it", label: "Stop" }],
  };
  await fixture.json("POST", `/threads/${id}/messages`, {
    messages: [{ id: "proposal-1", role: "assistant", content: "What next?", additional_kwargs: proposal }],
  });
  return id;
}

async function choose(id: string, suggestion: string): Promise<void> {
  fixture.model.push({ text: "very well" });
  const { run_id } = Run.parse(await fixture.json("POST", `/threads/${id}/suggestions/${suggestion}`));
  await fixture.server.client.runs.join(id, run_id);
}

test("a choice becomes the user's next message and is marked as chosen; it cannot be chosen twice", async () => {
  const id = await withProposal();
  expect(await fixture.json("GET", `/threads/${id}/info`)).toMatchObject({
    active_suggestion_message_id: "proposal-1",
  });
  expect(await suggestions(id)).toMatchObject([{ status_summary: "Round 3 is done", state: "active" }]);
  await choose(id, "proposal-1.1");
  expect((await fixture.messages(id)).slice(-2).map(({ content }) => content)).toEqual([
    "Go on as before",
    "very well",
  ]);
  expect(await suggestions(id)).toMatchObject([{ state: "selected", selected_id: "proposal-1.1" }]);
  expect(await fixture.json("GET", `/threads/${id}/info`)).toMatchObject({ active_suggestion_message_id: null });
  const again = await fixture.ask("POST", `/threads/${id}/suggestions/stop-it`);
  expect(again).toEqual([409, expect.stringContaining("not open any more")]);
  expect((await fixture.ask("POST", `/threads/${id}/suggestions/unknown`))[0]).toBe(404);
  const page = await fixture.json("GET", `/threads/${id}/messages`);
  expect(page).toMatchObject({
    messages: [{}, {}, { role: "suggestion", suggestions: { state: "selected" } }, {}, {}],
  });
});

test("a choice that is repeated with its key is the same run", async () => {
  const id = await withProposal();
  fixture.model.push({ text: "very well" });
  const choice = async (): Promise<string> => {
    const headers = { "idempotency-key": "once" };
    const response = await fixture.server.send("POST", `/threads/${id}/suggestions/stop-it`, undefined, headers);
    return Run.parse(await response.json()).run_id;
  };
  const run = await choice();
  expect(await choice()).toBe(run);
  await fixture.server.client.runs.join(id, run);
  expect(await choice()).toBe(run);
});

test("another message of the user makes a proposal expire, and it stays in the history", async () => {
  const id = await withProposal();
  await fixture.say(id, "something else");
  expect(await suggestions(id)).toMatchObject([{ message_id: "proposal-1", state: "expired", selected_id: null }]);
});

test("a proposal of the workflow within a question is chosen as its answer", async () => {
  const { thread_id: id } = await fixture.server.client.threads.create();
  const clarification = {
    guess: "You want a short text.",
    defaults: [],
    questions: ["About what?"],
    suggestions: ["About the sea", "About the hills"],
  };
  fixture.model.push({ text: JSON.stringify(clarification) });
  const request = { input: { messages: [{ role: "user", content: "write a report" }] } };
  await fixture.server.client.runs.wait(id, "agent", request);
  const [proposed] = await suggestions(id);
  expect(proposed).toMatchObject({
    state: "active",
    options: [{ label: "About the sea" }, { label: "About the hills" }],
  });
  fixture.model.push({ text: "The hills are green." });
  const { run_id } = Run.parse(await fixture.json("POST", `/threads/${id}/suggestions/${proposed?.options[1]?.id}`));
  await fixture.server.client.runs.join(id, run_id);
  expect(await suggestions(id)).toMatchObject([{ state: "selected", selected_id: proposed?.options[1]?.id }]);
  expect((await fixture.messages(id)).slice(-2).map(({ content }) => content)).toEqual([
    "About the hills",
    "The hills are green.",
  ]);
});
