export default `a${`b${`c${1}`}`}`;
