/** What the miller keeps: a sixteenth of each sack, and never less than a scoop of half a kilogram. */
const share = 1 / 16;
const scoop = 0.5;

/** Kilograms that the miller keeps of a sack. */
export function tollOf(sack) {
  return Math.min(sack.kilograms * share, scoop);
}

/** The sacks of a day. */
export class Ledger {
  sacks = [];

  add(sack) {
    this.sacks.push(sack);
  }

  total() {
    return this.sacks.reduce((sum, sack) => sum + tollOf(sack), 0);
  }
}
