/** 磨坊的抽成：每袋抽十六分之一，但不少于一勺，即半公斤。 */
const share = 1 / 16;
const scoop = 0.5;

/** 一袋粮食中磨坊抽取的公斤数。 */
export function tollOf(sack) {
  return Math.min(sack.kilograms * share, scoop);
}

/** 一天收到的粮袋。 */
export class Ledger {
  sacks = [];

  add(sack) {
    this.sacks.push(sack);
  }

  total() {
    return this.sacks.reduce((sum, sack) => sum + tollOf(sack), 0);
  }
}
