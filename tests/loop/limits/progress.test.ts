import { AIMessageChunk } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { createProgress } from "../../../src/loop/progress.ts";

it.each([0, 7, 1_763_800_000])(
  "keeps a call that was cut off, also where the provider gives it the number %i",
  (index) => {
    const progress = createProgress();
    const receive = (args: string, id?: string): void => {
      const piece = {
        index,
        args,
        type: "tool_call_chunk" as const,
        ...(id === undefined ? {} : { id, name: "look" }),
      };
      progress.recordChunk("node:1", new AIMessageChunk({ id: "answer", content: "", tool_call_chunks: [piece] }));
    };
    receive('{"path":', "one");
    receive('"a');
    expect(progress.streamedAnswer("node:1")?.calls).toEqual([{ id: "one", name: "look", args: '{"path":"a' }]);
  },
);
