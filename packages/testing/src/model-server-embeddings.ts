import { z } from "zod";

/** The body of an embeddings request, in OpenAI's or Ollama's format. */
export const EmbedBody = z.looseObject({ model: z.string(), input: z.array(z.string()).min(1) });

/** A received embeddings request. */
export interface EmbedRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: z.infer<typeof EmbedBody>;
}

/** Whether a path is an embeddings endpoint. */
export function isEmbedding(path: string): boolean {
  return path.endsWith("/embeddings") || path === "/api/embed";
}

/** The response to an embeddings request in its own format; an error if a text has no vector. */
export async function embedAnswer(
  { path, headers, body }: EmbedRequest,
  embed: (text: string) => number[] | number | Promise<number[] | number>,
): Promise<{ status: number; body: string }> {
  const vectors = await Promise.all(body.input.map((text) => Promise.resolve(embed(text))));
  const failed = vectors.find((vector) => typeof vector === "number");
  if (failed !== undefined) {
    // Some vendors repeat the API key in the error.
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
