import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { toDisplay } from "../../src/sessions/messages/display.ts";
import { activeSuggestions, readSuggestions } from "@millrace/engine/sessions/overview/suggestions";

const proposal = (id: string, suggestions: unknown, more: object = {}): AIMessage =>
  new AIMessage({ id, content: "What next?", additional_kwargs: { suggestions, ...more } });
const userMessage = (content: string, more: object = {}): HumanMessage =>
  new HumanMessage({ id: crypto.randomUUID(), content, additional_kwargs: { ...more } });

describe("proposals", () => {
  it("are active until the user says something", () => {
    const messages = [userMessage("hi"), proposal("p1", ["Go on", "Stop"], { status_summary: "Round 3 is done" })];
    expect(readSuggestions(messages)).toEqual([
      {
        message_id: "p1",
        status_summary: "Round 3 is done",
        options: [
          { id: "p1.1", label: "Go on", text: "Go on", kind: "secondary" },
          { id: "p1.2", label: "Stop", text: "Stop", kind: "secondary" },
        ],
        state: "active",
        selected_id: null,
      },
    ]);
    expect(activeSuggestions(messages)?.message_id).toBe("p1");
    expect(toDisplay(messages, messages).map(({ role }) => role)).toEqual(["user", "suggestion"]);
  });

  it.each<[string, BaseMessage, string, string | null]>([
    ["the words of an option select it", userMessage(" Stop "), "selected", "p1.2"],
    ["its id selects it, whatever the words are", userMessage("enough", { suggestion_id: "p1.2" }), "selected", "p1.2"],
    ["other words let them expire", userMessage("something else"), "expired", null],
    ["an id of another proposal lets them expire", userMessage("Stop", { suggestion_id: "p0.1" }), "expired", null],
  ])("stay in the history: %s", (_, next, state, selected_id) => {
    const messages = [proposal("p1", ["Go on", "Stop"]), next, new AIMessage({ id: "a", content: "ok" })];
    expect(readSuggestions(messages)).toMatchObject([{ state, selected_id, status_summary: "What next?" }]);
    expect(activeSuggestions(messages)).toBeUndefined();
  });

  it("may say other words than their label, and have ids of their own", () => {
    const option = { id: "fix", label: "Repair", value: "Repair the error in line 3" };
    const messages = [proposal("p1", [option]), userMessage("Repair the error in line 3")];
    expect(readSuggestions(messages)).toMatchObject([{ selected_id: "fix" }]);
  });

  it.each([
    ["fix", "fix"],
    ["stop", "stop"],
    ["an unknown kind", "secondary"],
    [undefined, "secondary"],
  ])("have a kind: %s is %s", (kind, shown) => {
    const messages = [proposal("p1", [{ label: "Repair", kind }])];
    expect(readSuggestions(messages)).toMatchObject([{ options: [{ label: "Repair", kind: shown }] }]);
  });

  it.each([[[]], ["x"], [[{}]], [[1]], [undefined]])("that are none are not shown: %j", (suggestions) => {
    const messages = [proposal("p1", suggestions)];
    expect(readSuggestions(messages)).toEqual([]);
    expect(toDisplay(messages, messages)[0]?.role).toBe("assistant");
  });
});
