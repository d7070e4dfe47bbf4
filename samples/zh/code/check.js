import { equal } from "node:assert/strict";
import { Ledger } from "./src/toll.js";

const ledger = new Ledger();
ledger.add({ kilograms: 80 });
ledger.add({ kilograms: 2 });
equal(ledger.total(), 5.5);
process.stdout.write("账目正确。\n");
