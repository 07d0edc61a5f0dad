"""From a bound query to an automaton with classified predicates; the plan is data."""
