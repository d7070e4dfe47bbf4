import { createTextCallParser } from "@millrace/models/text-calls/parser";
import { maxCallLength } from "@millrace/models/text-calls/forms/tool-use";
import type { Figure, Section } from "../figures.ts";

const opening = '<tool_use>\n<invoke name="write_file">\n<parameter name="content">';
const closing = "</parameter>\n</invoke>\n</tool_use>";
const size = maxCallLength - 1000;
const filled = (piece: string): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

/** Replies of 1 MB, each with one call. */
const replies: Record<string, string> = {
  "prose, then a call": filled("These are words of an answer, and a < b in them.\n") + opening + closing,
  "a call with a long value": opening + filled("if (a < b && c) { return <b>x</b>; }\n") + closing,
  "a call in JSON": `{"tool":"write_file","arguments":{"content":"${filled("a line of text\\\\n")}"}}`,
  "a call in DeepSeek's marks": `<｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{"content":"${filled("a line of text\\\\n")}"}<｜tool▁call▁end｜>`,
  "a call in DeepSeek's markup": `<｜DSML｜invoke name="write_file">\n<｜DSML｜parameter name="content" string="true">${filled("if (a < b && c) { return <b>x</b>; }\n")}</｜DSML｜parameter>\n</｜DSML｜invoke>`,
  "a call in Mistral's marks": `[TOOL_CALLS]write_file[ARGS]{"content":"${filled("a line of text\\\\n")}"}`,
  "closing tags and brackets, then a call": filled("<p>[Text] </p>\n<｜im_end｜> <b>x</b> \n") + opening + closing,
};

/** What it costs to find a call in a reply of 1 MB that comes in pieces of a kilobyte (XML-12). */
export function measureTextCalls(rounds: number): Section {
  const figures = Object.entries(replies).map(([measure, reply]): Figure => {
    const times = Array.from({ length: rounds }, () => {
      const start = performance.now();
      read(reply);
      return performance.now() - start;
    });
    // The fastest of several: the others measure what else the machine does.
    return { measure, value: Math.min(...times), unit: "ms", max: 10 };
  });
  return { title: "Tool calls as text, in a reply of 1 MB", figures };
}

function read(reply: string): void {
  const parser = createTextCallParser(["write_file"]);
  let calls = 0;
  for (let at = 0; at < reply.length; at += 1024) calls += callsIn(parser.push(reply.slice(at, at + 1024)));
  calls += callsIn(parser.end());
  if (calls !== 1) throw new Error(`${calls} calls were found, not 1`);
}

function callsIn(parts: ReturnType<ReturnType<typeof createTextCallParser>["push"]>): number {
  return parts.filter((part) => part.kind === "use" && !part.use.partial).length;
}
