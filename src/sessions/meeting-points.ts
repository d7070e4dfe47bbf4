import { Turns } from "../runs/turns.ts";
import { CurrentChanges } from "./current-changes.ts";

/** Where the callers of one server meet, whichever door each comes through. */
export interface MeetingPoints {
  /** Wakes those who follow what is current in a namespace. */
  changes: CurrentChanges;
  /** Work on a namespace of an owner goes one after the other. */
  namespaces: Turns;
  /** So do writes of an item that its rules are asked about. */
  items: Turns;
}

/** The meeting points of a new server. */
export function createMeetingPoints(): MeetingPoints {
  return { changes: new CurrentChanges(), namespaces: new Turns(), items: new Turns() };
}
