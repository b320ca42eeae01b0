const React = require("react");

/** Shows it. */
class View extends React.Component {
  state = { a: 1 };

  render() {
    return <Frame title="x"><Item.Row key={1} /></Frame>;
  }
}

function helper(a, { b }, c = 1) {
  return a;
}

module.exports = { View };
