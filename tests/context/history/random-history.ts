import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";

/** A turn: its request, rounds of so many calls each, what they gave, and perhaps the reply. */
const turn = fc.record({
  request: fc.integer({ min: 1, max: 300 }),
  rounds: fc.array(fc.record({ calls: fc.integer({ min: 1, max: 3 }), size: fc.integer({ min: 0, max: 2500 }) }), {
    maxLength: 3,
  }),
  reply: fc.option(fc.integer({ min: 1, max: 1500 })),
  reasoning: fc.option(fc.integer({ min: 1, max: 1000 })),
  filling: fc.constantFrom("word ", "字", "😀", "```\nline\n```\n", 'a"b\\', "The design goals: confirmed. "),
});

/** Valid histories of one to six turns, the last of which may be unfinished. Ids are `m1`, `m2`, … */
export const randomHistory: fc.Arbitrary<BaseMessage[]> = fc
  .array(turn, { minLength: 1, maxLength: 6 })
  .map((turns) => {
    let count = 0;
    const id = (): string => `m${(count += 1)}`;
    const text = (filling: string, length: number): string =>
      filling
        .repeat(Math.ceil(length / filling.length))
        .slice(0, length)
        .toWellFormed();
    return turns.flatMap(({ request, rounds, reply, reasoning, filling }) => [
      new HumanMessage({ id: id(), content: text(filling, request) }),
      ...rounds.flatMap(({ calls, size }) => {
        const ai = id();
        const tool_calls = Array.from({ length: calls }, (_, index) => ({
          id: `${ai}-${index}`,
          name: index === 0 ? "create_file" : "read_file",
          args: { path: `f${size % 5}`, content: index === 0 ? text(filling, size) : "" },
        }));
        const thought = reasoning === null ? {} : { reasoning_content: text(filling, reasoning) };
        return [
          new AIMessage({ id: ai, content: "", tool_calls, additional_kwargs: thought }),
          ...tool_calls.map(
            (call) =>
              new ToolMessage({
                id: id(),
                tool_call_id: call.id,
                name: call.name,
                content: text(filling, size),
                additional_kwargs: { operations: [{ type: "modify", path: call.args.path }] },
              }),
          ),
        ];
      }),
      ...(reply === null ? [] : [new AIMessage({ id: id(), content: text(filling, reply) })]),
    ]);
  });
