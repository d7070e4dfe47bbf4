import { z } from "zod";

/** The body of a request for vectors, in OpenAI's form and in Ollama's. */
export const EmbedBody = z.looseObject({ model: z.string(), input: z.array(z.string()).min(1) });

/** A request for vectors as it came. */
export interface EmbedRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: z.infer<typeof EmbedBody>;
}

/** Whether a path is one that gives vectors. */
export function isEmbedding(path: string): boolean {
  return path.endsWith("/embeddings") || path === "/api/embed";
}

/** The answer to a request for vectors, in its own form; a failure where one of its texts has none. */
export async function embedAnswer(
  { path, headers, body }: EmbedRequest,
  embed: (text: string) => number[] | number | Promise<number[] | number>,
): Promise<{ status: number; body: string }> {
  const vectors = await Promise.all(body.input.map((text) => Promise.resolve(embed(text))));
  const failed = vectors.find((vector) => typeof vector === "number");
  if (failed !== undefined) {
    // Some vendors repeat the key in their reason.
    const message = `Incorrect API key provided: ${String(headers["authorization"])}.`;
    return { status: Number(failed), body: JSON.stringify({ error: { message } }) };
  }
  const answer =
    path === "/api/embed"
      ? { model: body.model, embeddings: vectors }
      : {
          object: "list",
          model: body.model,
          data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
          usage: { prompt_tokens: 1, total_tokens: 1 },
        };
  return { status: 200, body: JSON.stringify(answer) };
}
