import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { messageLimit } from "./message-limit.ts";
import { sameOriginFetch } from "./same-origin-fetch.ts";

/**
 * `fetch` for a server: an answer of more than a message may have is not read, and one that breaks off is told, since the
 * SDK would let its call wait for ever. The stream of the server's own messages (GET) is not opened: nothing here needs it.
 */
export function boundedFetch(onBroken: (problem: string) => void): FetchLike {
  return async (url, init) => {
    const isOwnStream = init?.method === "GET" && !new Headers(init.headers).has("last-event-id");
    if (isOwnStream) return new Response(null, { status: 405 });
    const response = await sameOriginFetch(url, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(bounded(response.body, onBroken), { status, statusText, headers });
  };
}

function bounded(body: ReadableStream<Uint8Array>, onBroken: (problem: string) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let length = 0;
  let isCancelled = false;
  const fail = async (controller: ReadableStreamDefaultController, problem: string): Promise<void> => {
    controller.error(new Error(problem));
    onBroken(problem);
    // A broken body cannot be cancelled any more, and need not be.
    await reader.cancel().catch(() => undefined);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await reader.read().catch(() => "broken" as const);
      if (isCancelled) return;
      if (piece === "broken") return fail(controller, "its answer broke off");
      if (piece.done) return controller.close();
      length += piece.value.length;
      if (length > messageLimit)
        return fail(controller, `it sent more than ${messageLimit / 1024 / 1024} MB in one answer`);
      controller.enqueue(piece.value);
    },
    cancel: (reason) => {
      isCancelled = true;
      return reader.cancel(reason);
    },
  });
}
