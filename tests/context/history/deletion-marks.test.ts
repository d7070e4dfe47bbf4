import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { deletionList } from "../../../src/context/pruning/deletion-marks.ts";
import { writeTool } from "../../../src/tools/conversation/deletion-list.ts";

let count = 0;
function change(action: string, ids: readonly number[], status: "success" | "error" = "success"): BaseMessage[] {
  const id = `call-${(count += 1)}`;
  const message_ids = ids.map((one) => one.toString(16).padStart(8, "0")).join(",");
  return [
    new AIMessage({ content: "", tool_calls: [{ id, name: writeTool, args: { message_ids, action } }] }),
    new ToolMessage({ tool_call_id: id, content: "Noted.", status }),
  ];
}

it("reads the list off the calls that had a result, each id once and in its order", () => {
  const calls = [
    ...change("create", [9]),
    ...change("create", [1, 2, 1]),
    ...change("append", [3, 2]),
    ...change("append", [4], "error"),
    ...change("delete", [1, 7]),
  ];
  expect(deletionList(calls)).toEqual(["00000002", "00000003"]);
});

it("reads a list of very many changes in time that grows with the ids, not with their square", () => {
  // The square takes minutes, before each call of the model.
  const size = 2200;
  const numbers = (from: number): number[] => Array.from({ length: size }, (_, index) => from + index);
  const appended = Array.from({ length: 150 }, (_, at) => change("append", numbers(at * size)));
  const deleted = Array.from({ length: 100 }, (_, at) => change("delete", numbers((200 + at) * size)));
  expect(deletionList([...appended, ...deleted].flat())).toHaveLength(150 * size);
}, 30_000);
