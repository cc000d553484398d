"""Runs the definition of a Logic App against stand-ins of what it calls: the part of the language that ours use."""

import json
import re


class Azure:
    """Runs a workflow's actions as Azure would: what it calls, in the order that it allows."""

    def __init__(self, answers):
        self.answers, self.calls, self.items, self.bodies, self.variables = answers, [], {}, {}, {}

    def run(self, actions):
        done = {}
        while len(done) < len(actions):
            ready = [n for n, a in actions.items() if n not in done and set(a.get("runAfter", {})) <= done.keys()]
            assert ready, f"never runs: {set(actions) - done.keys()}"
            for name in ready:
                allowed = actions[name].get("runAfter", {})
                done[name] = (
                    self.act(name, actions[name])
                    if all(done[before] in states for before, states in allowed.items())
                    else "Skipped"
                )
        return done

    def act(self, name, action):
        kind = action["type"]
        if kind == "Http":
            return self.http(name, action["inputs"])
        if kind == "If":
            if all(self.holds(one) for one in action["expression"]["and"]):
                return "Succeeded" if "Failed" not in self.run(action["actions"]).values() else "Failed"
            return "Succeeded"
        if kind == "InitializeVariable":
            self.variables |= {each["name"]: list(each["value"]) for each in action["inputs"]["variables"]}
            return "Succeeded"
        if kind == "AppendToArrayVariable":
            self.variables[action["inputs"]["name"]].append(self.value(action["inputs"]["value"]))
            return "Succeeded"
        if kind == "Terminate":
            return action["inputs"]["runStatus"]
        state = "Succeeded"
        for item in self.value(action["foreach"]) or []:
            self.items[name] = item
            if "Failed" in self.run(action["actions"]).values():
                state = "Failed"
        return state

    def http(self, name, inputs):
        assert inputs["authentication"]["type"] == "ManagedServiceIdentity"
        uri = re.sub(r"@\{(.+?)\}", lambda found: str(self.value(f"@{found[1]}")), inputs["uri"])
        body = self.value(inputs["body"]) if isinstance(inputs.get("body"), str) else inputs.get("body")
        self.calls.append((inputs["method"], uri.removeprefix("https://management.azure.com"), body))
        answer = self.answers.get(uri.removeprefix("https://management.azure.com").partition("?")[0], {})
        if answer == "fails" and inputs["method"] != "GET":
            return "Failed"
        self.bodies[name] = answer
        return "Succeeded"

    def holds(self, condition):
        ((operator, operands),) = condition.items()
        if operator == "not":
            return not self.holds(operands)
        if operator == "and":
            return all(self.holds(operand) for operand in operands)
        left, right = (self.value(one) for one in operands)
        return left == right if operator == "equals" else left > right

    def value(self, text):
        """The few functions that the definitions use."""
        if not (isinstance(text, str) and text.startswith("@")):
            return text
        return eval(  # noqa: S307  (an expression of our own, rewritten to Python)
            re.sub(r"\?\[('[^']+')\]", r".get(\1, {})", text[1:]),
            {},
            {
                "body": self.bodies.get,
                "items": self.items.get,
                "variables": self.variables.get,
                "length": len,
                "json": json.loads,
                "setProperty": lambda found, key, what: {**found, key: what},
            },
        )
