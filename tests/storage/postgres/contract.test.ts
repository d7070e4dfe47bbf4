import { afterAll, describe } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { describeStorage } from "../../contract/storage.ts";
import { startPostgres } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

const addresses = new Map<string, string>();

describe.skipIf(server === undefined)("PostgreSQL", () => {
  describeStorage("the storage in PostgreSQL", async (place) => {
    const url = addresses.get(place) ?? (await server?.create()) ?? "";
    addresses.set(place, url);
    return await createPostgresStorage(url);
  });
});
