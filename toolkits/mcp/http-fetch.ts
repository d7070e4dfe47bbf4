import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

/**
 * `fetch` for a server, with a limit on the size of an answer. An answer that breaks off becomes an error, since the SDK
 * would wait forever. The server's own message stream (GET) is not opened, because nothing here uses it.
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

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 5;

/**
 * `fetch` that follows redirects on the same origin only: headers contain keys, and plain `fetch` sends custom headers
 * along to any address. Throws an `Error` that says why a redirect is not followed.
 */
export const sameOriginFetch: FetchLike = async (url, init) => {
  let target = new URL(url);
  for (let followed = 0; followed <= maxRedirects; followed += 1) {
    const response = await fetch(target.href, { ...init, redirect: "manual" });
    const location = redirectStatuses.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, target.href);
    if (next === null) throw new Error("it redirects to what is no address");
    if (next.origin !== target.origin) {
      throw new Error(
        `it redirects to another origin, ${next.origin}: write the address that is meant into the file of MCP servers`,
      );
    }
    const keepsRequest = response.status === 307 || response.status === 308 || init?.method === "GET";
    if (!keepsRequest) throw new Error(`it redirects with the status ${response.status}, which drops the request`);
    target = next;
  }
  throw new Error(`it redirects more than ${maxRedirects} times`);
};

/** Maximum bytes of a server's message: more ends the connection. */
export const messageLimit = 10 * 1024 * 1024;
