import { z } from "zod";

/** The fields of a streamed line that the client reads without validation. */
const Line = z.union([
  z.looseObject({ error: z.string() }),
  z.looseObject({
    message: z.looseObject({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
    }),
  }),
]);

/** Characters of a broken line quoted in an error. */
const shownLength = 80;

/**
 * A `fetch` whose streamed responses contain only valid lines. The client skips invalid JSON, silently losing text;
 * here such a line becomes an error in Ollama's format, after everything before it. A cut-off last line is dropped: the
 * client then notices the missing end.
 */
export function wholeLines(ask: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await ask(input, init);
    if (!response.ok) return await asJson(response);
    if (response.body === null) return response;
    return new Response(response.body.pipeThrough(checked()), response);
  };
}

/** Converts any refusal to Ollama's format; the client would print others to the console. */
async function asJson(response: Response): Promise<Response> {
  if (response.headers.get("content-type")?.includes("application/json") === true) return response;
  const error = (await response.text()) || response.statusText;
  const { status, statusText } = response;
  return Response.json({ error }, { status, statusText });
}

function checked(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      const whole = lines.filter((line) => line.trim() !== "").map((line) => `${readable(line)}\n`);
      if (whole.length > 0) controller.enqueue(encoder.encode(whole.join("")));
    },
    flush(controller) {
      rest += decoder.decode();
      const isCut = rest.startsWith("{") && parsed(rest) === undefined;
      if (rest.trim() !== "" && !isCut) controller.enqueue(encoder.encode(`${readable(rest)}\n`));
    },
  });
}

function readable(line: string): string {
  const value = parsed(line);
  if (value !== undefined && Line.safeParse(value.json).success) return line;
  const problem = value === undefined ? "is not valid JSON" : "is malformed";
  const shown = line.slice(0, shownLength).toWellFormed();
  return JSON.stringify({ error: `a line of the answer ${problem}: ${shown}` });
}

function parsed(line: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(line) };
  } catch {
    return undefined;
  }
}
