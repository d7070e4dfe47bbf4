import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const mostRedirects = 5;

/**
 * `fetch` that follows redirects on the same origin only: the headers of a server hold keys, and `fetch` by itself
 * would bring those with names of their own to whatever address is named. Throws an `Error` that says what is wrong
 * with a redirect that is not followed.
 */
export const sameOriginFetch: FetchLike = async (url, init) => {
  let target = new URL(url);
  for (let followed = 0; followed <= mostRedirects; followed += 1) {
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
  throw new Error(`it redirects more than ${mostRedirects} times`);
};
