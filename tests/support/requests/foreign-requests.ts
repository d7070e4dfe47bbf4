import { request } from "node:http";
import type { DescribedRoute } from "./described-routes.ts";

/** Values of Host that are not the server's (S1 in reliability.md). */
export const foreignHosts = [
  "evil.com",
  "evil.com:2024",
  "localhost.evil.com",
  "localhost.",
  "user@localhost",
  "[::2]",
  "",
];

/** Origins of pages that may not call it. */
export const foreignOrigins = [
  "http://evil.com",
  "null",
  "http://localhost:1",
  "https://SMITH.langchain.com.evil.com",
  "file://",
];

/** What a page can say that a body is; empty: nothing. */
export const contentTypes = [
  "application/json",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "",
];

/** The refusal that a foreign Host gets; what is no host name at all is refused before the gate, by what parses the request. */
export function statusForHost(host: string): number {
  return host === "" || host.includes("@") ? 400 : 403;
}

/** Sends a request as any page or program can make it, with `id` for each parameter of the path; gives the status. */
export function sendAs(
  url: string,
  route: DescribedRoute,
  { id, headers }: { id: string; headers: Record<string, string> },
): Promise<number | undefined> {
  const path = route.path.replaceAll(/\{\w+\}/g, id);
  const body = route.method === "GET" ? undefined : "{}";
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const sent = request(
    `${url}${path}`,
    {
      method: route.method,
      headers: body === undefined ? headers : { ...headers, "content-length": body.length },
      setHost: !("host" in headers),
    },
    (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    },
  );
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
