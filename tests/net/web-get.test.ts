import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { buildConnector } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { isPublicAddress, type WebRules } from "@millrace/engine/net/checked-agent";
import { webGet, type WebRequest } from "@millrace/engine/net/web-get";
import { startWebServer, type WebReply, type WebServer } from "@millrace/testing/web-server";
import { closedAddresses, closedAnswers } from "./closed-addresses.ts";

/** Stands for the public internet: each connection to it reaches the scripted server. */
const publicAddress = "93.184.216.34";
const never = new AbortController().signal;
const usual: Omit<WebRequest, "address"> = { redirects: 5, limit: 1024 * 1024, within: 5000 };

let server: WebServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A connection that was opened. */
interface Opened {
  host: string;
  port: number;
  addresses: readonly string[];
  isSecure: boolean;
}

interface World extends WebRules {
  opened: Opened[];
  asked: string[];
}

/** Rules under which every connection is noted, and only the public address leads anywhere. */
function world(names: Record<string, string[] | (() => string[])> = {}, allowed: readonly string[] = []): World {
  const opened: Opened[] = [];
  const asked: string[] = [];
  return {
    allowed,
    opened,
    asked,
    find: async (name) => {
      asked.push(name);
      const known = names[name] ?? [];
      return typeof known === "function" ? known() : known;
    },
    connectTo: (addresses) => {
      const connector = buildConnector({});
      return (options, done) => {
        const isSecure = options.protocol === "https:";
        const port = Number(options.port) || (isSecure ? 443 : 80);
        opened.push({ host: options.hostname, port, addresses, isSecure });
        connector({ ...options, protocol: "http:", hostname: "127.0.0.1", port: String(server?.port ?? 1) }, done);
      };
    },
  };
}

/** The code of what it throws, or `opened`. */
async function outcome(address: string, rules: WebRules, request: Partial<WebRequest> = {}): Promise<string> {
  try {
    await webGet({ ...usual, address, ...request }, rules, never);
    return "opened";
  } catch (error) {
    if (!isAppError(error)) throw error;
    return error.code;
  }
}

async function serve(reply: (path: string) => WebReply): Promise<WebServer> {
  server = await startWebServer(({ path }) => reply(path));
  return server;
}

describe("an address that is not of the public web", () => {
  it("is refused in every way in which it can be written, before any name is asked for or connection opened", async () => {
    const rules = world();
    const outcomes = new Set<string>();
    for (const address of closedAddresses) outcomes.add(await outcome(address, rules));
    expect(new Set(closedAddresses).size).toBeGreaterThan(230);
    expect([...outcomes].toSorted()).toEqual(["blocked", "invalid_parameter"]);
    expect([rules.asked, rules.opened]).toEqual([[], []]);
  });

  it("is refused where a server sends us to it", async () => {
    const hops = closedAddresses.filter((address) => /^\w+:/u.test(address) && !address.includes("\0"));
    await serve((path) => ({ status: 302, headers: { location: encodeURI(hops[Number(path.slice(1))] ?? "") } }));
    for (const [index, hop] of hops.entries()) {
      const rules = world({ "start.example.com": [publicAddress] });
      expect(await outcome(`http://start.example.com/${index}`, rules), hop).not.toBe("opened");
      // A hop that is a path is one of the same host.
      expect(new Set(rules.opened.flatMap(({ addresses }) => addresses)), hop).toEqual(new Set([publicAddress]));
    }
    expect(hops.length).toBeGreaterThan(200);
  });

  it("is refused where a name comes to mean it, alone or among others", async () => {
    for (const answers of closedAnswers) {
      const rules = world({ "trap.example.com": answers });
      expect(await outcome("http://trap.example.com/", rules), answers.join()).toBe("blocked");
      expect(rules.opened).toEqual([]);
    }
  });

  it("is never one that is public: of all addresses only those of the global ranges are", () => {
    const octet = fc.nat(255);
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
        const [first, second] = octets;
        const address = octets.join(".");
        const isClosed =
          [0, 10, 127].includes(first) ||
          first >= 224 ||
          (first === 192 && second === 168) ||
          (first === 169 && second === 254) ||
          (first === 172 && second >= 16 && second <= 31) ||
          (first === 100 && second >= 64 && second <= 127);
        if (isClosed) expect(isPublicAddress(address)).toBe(false);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(false);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(false);
        expect(isPublicAddress(`::${address}`)).toBe(false);
      }),
      { numRuns: 2000 },
    );
    const open = [
      "1.1.1.1",
      "8.8.8.8",
      "93.184.216.34",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700::1111",
      "2a00:1450:4001::1",
    ];
    expect(open.filter((address) => !isPublicAddress(address))).toEqual([]);
  });
});

describe("a name", () => {
  it("that means something else by now is not asked for again: the connection goes to what was checked", async () => {
    await serve(() => ({ body: "hello" }));
    const answers = [[publicAddress], ["127.0.0.1"]];
    const rules = world({ "rebind.example.com": () => answers.shift() ?? [] });
    const { body } = await webGet({ ...usual, address: "http://rebind.example.com/" }, rules, never);
    expect(body.toString()).toBe("hello");
    expect(rules.asked).toEqual(["rebind.example.com"]);
    expect(rules.opened).toEqual([
      { host: "rebind.example.com", port: 80, addresses: [publicAddress], isSecure: false },
    ]);
    expect(await outcome("http://rebind.example.com/", rules)).toBe("blocked");
    expect(rules.opened).toHaveLength(1);
  });

  it("is checked anew where a server sends us back to it", async () => {
    await serve(() => ({ status: 307, headers: { location: "/again" } }));
    const answers = [[publicAddress], ["10.0.0.1"]];
    const rules = world({ "rebind.example.com": () => answers.shift() ?? [] });
    expect(await outcome("http://rebind.example.com/", rules)).toBe("blocked");
    expect(rules.opened).toHaveLength(1);
  });

  it("that is unknown is reported", async () => {
    expect(await outcome("http://gone.example.com/", world())).toBe("network");
  });

  it("of a private network is opened where the operator has named it, with its port or for all of them", async () => {
    const { url, host, port } = await serve(() => ({ body: "hello" }));
    expect(await outcome(url, { allowed: [host] })).toBe("opened");
    expect(await outcome(url, { allowed: ["127.0.0.1"] })).toBe("opened");
    expect(await outcome(url, { allowed: ["127.0.0.1:1", "localhost"] })).toBe("blocked");
    expect(await outcome(`http://localhost:${port}/`, { allowed: ["LOCALHOST"] })).toBe("opened");
    expect(await outcome(`http://[::1]:${port}/`, { allowed: [`[::1]:${port + 1}`] })).toBe("blocked");
  });

  it("that the operator has named may still not mean a cloud's metadata", async () => {
    const closed = ["169.254.169.254", "fe80::1", "::", "0.0.0.0", "fd00:ec2::254", "::ffff:169.254.169.254"];
    const rules = world(
      {},
      closed.flatMap((address) => [address, "intra"]),
    );
    for (const address of closed) {
      const host = address.includes(":") ? `[${address}]` : address;
      expect(await outcome(`http://${host}/`, rules), address).toBe("blocked");
      expect(await outcome("http://intra/", { ...rules, find: async () => [address] }), address).toBe("blocked");
    }
    expect(rules.opened).toEqual([]);
  });
});

describe("an answer", () => {
  const get = (path: string, more: Partial<WebRequest> = {}) =>
    webGet({ ...usual, address: `${server?.url}${path}`, ...more }, { allowed: ["127.0.0.1"] }, never);

  it("is unpacked, whichever way it was packed", async () => {
    const text = "packed ".repeat(1000);
    const packed: Record<string, Buffer> = {
      "/gzip": gzipSync(text),
      "/deflate": deflateSync(text),
      "/br": brotliCompressSync(text),
      "/identity": Buffer.from(text),
    };
    await serve((path) => ({ headers: { "content-encoding": path.slice(1) }, body: packed[path] ?? "" }));
    for (const path of Object.keys(packed)) expect((await get(path)).body.toString()).toBe(text);
    expect(server?.hits[0]?.headers["accept-encoding"]).toBe("gzip, deflate, br");
  });

  it("that is too large is not read to its end, also where it is small until it is unpacked", async () => {
    const large = Buffer.alloc(50 * 1024 * 1024);
    const bodies: Record<string, WebReply> = {
      "/said": { headers: { "content-length": "99999999" }, body: "x", ends: "hang" },
      "/plain": { body: Buffer.alloc(2 * 1024 * 1024) },
      "/gzip": { headers: { "content-encoding": "gzip" }, body: gzipSync(large) },
      "/br": { headers: { "content-encoding": "br" }, body: brotliCompressSync(large.subarray(0, 8 * 1024 * 1024)) },
      "/deflate": { headers: { "content-encoding": "deflate" }, body: deflateSync(large) },
      "/twice": { headers: { "content-encoding": "gzip, gzip" }, body: gzipSync(gzipSync(large)) },
    };
    await serve((path) => bodies[path] ?? {});
    const codes = [];
    for (const path of Object.keys(bodies))
      codes.push(await outcome(`${server?.url}${path}`, { allowed: ["127.0.0.1"] }));
    expect(codes).toEqual([...Array.from({ length: 5 }, () => "too_large"), "invalid_format"]);
  });

  it("that does not come in time, ends too early or is none is reported as what it is", async () => {
    const { url } = await serve((path): WebReply =>
      path === "/cut"
        ? { headers: { "content-length": "100" }, body: "half", ends: "cut" }
        : path === "/broken"
          ? { headers: { "content-encoding": "gzip" }, body: "no gzip" }
          : { body: "half", ends: "hang" },
    );
    const rules = { allowed: ["127.0.0.1"] };
    expect(await outcome(`${url}/hang`, rules, { within: 200 })).toBe("timeout");
    expect(await outcome(`${url}/cut`, rules)).toBe("network");
    expect(await outcome(`${url}/broken`, rules)).toBe("invalid_format");
    expect(await outcome("http://127.0.0.1:1/", rules)).toBe("network");
    const noise = createServer((socket) => socket.end("this is no HTTP\r\n\r\n")).listen(0, "127.0.0.1");
    await once(noise, "listening");
    // A server that listens on a port has an AddressInfo.
    const { port } = noise.address() as AddressInfo;
    expect(await outcome(`http://127.0.0.1:${port}/`, rules)).toBe("invalid_format");
    expect(await outcome(`https://127.0.0.1:${port}/`, rules)).toBe("network");
    noise.close();
  });

  it("is followed where it sends us on, so often as is allowed and no further", async () => {
    await serve((path) =>
      path === "/4" ? { body: "there" } : { status: 302, headers: { location: `${Number(path.slice(1)) + 1}` } },
    );
    const { url, body } = await get("/1");
    expect([url.pathname, body.toString()]).toEqual(["/4", "there"]);
    expect(await outcome(`${server?.url}/1`, { allowed: ["127.0.0.1"] }, { redirects: 2 })).toBe("blocked");
    await server?.close();
    const { url: round } = await serve(() => ({ status: 301, headers: { location: "/" } }));
    expect(await outcome(round, { allowed: ["127.0.0.1"] })).toBe("blocked");
    expect(server?.hits).toHaveLength(6);
  });

  it("is not waited for once the caller has stopped", async () => {
    const { url } = await serve(() => ({ body: "half", ends: "hang" }));
    const stop = new AbortController();
    const got = webGet({ ...usual, address: url }, { allowed: ["127.0.0.1"] }, stop.signal);
    stop.abort(new Error("stopped by the test"));
    await expect(got).rejects.toThrow("stopped by the test");
  });
});
